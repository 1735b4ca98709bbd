package history_test

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/history"
)

// A small file that would unfold to gigabytes is refused in one line.
func TestHostileResultsAreRefused(t *testing.T) {
	f := func(name, levels, want string) {
		t.Helper()
		content := `{"schema":1,"tool":"redline","label":"a \" { b","levels":[` + levels + `]}`
		_, err := history.Decode("bad.json", []byte(content))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", name, err, want)
		}
	}
	many := func(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
	f("levels", many("{}", 3_000_000), "JSON objects")
	f("null levels", many("null", 3_000_000), "levels")
	f("windows", `{"windows":[`+many("{}", 1_000_000)+`]}`, "JSON objects")
	if _, err := history.Decode("good.json", []byte(`{"schema":1,"tool":"redline","levels":[{},{}]}`)); err != nil {
		t.Error(err)
	}
}
