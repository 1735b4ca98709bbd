package result_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/result"
)

// An open end is null in JSON, and stays open when it is read again.
func TestIntervalAsJSON(t *testing.T) {
	f := func(iv result.Interval, want string) {
		t.Helper()
		text, err := json.Marshal(iv)
		if err != nil || string(text) != want {
			t.Fatalf("%s, want %s: %v", text, want, err)
		}
		var again result.Interval
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(iv, again); d != "" {
			t.Error(d)
		}
	}
	f(result.Interval{Low: 1, High: 2, Level: 0.95}, `{"low":1,"high":2,"level":0.95}`)
	f(result.Interval{Low: 1, Level: 0.95, Open: true}, `{"low":1,"high":null,"level":0.95}`)
}
