package binary

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/redline-bench/redline/internal/result"
)

// Result reads the file of --json.
func Result(t *testing.T, file string) *result.Result {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	res := &result.Result{}
	if err := json.Unmarshal(text, res); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return res
}
