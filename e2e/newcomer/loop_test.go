package newcomer

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// addLoop returns the source files, by their paths in the repository, in which the load loop of testdata/burst.go.txt is there.
func addLoop(t *testing.T) map[string][]byte {
	t.Helper()
	changed := map[string][]byte{"internal/engine/burst.go": read(t, "testdata/burst.go.txt")}
	for _, c := range []struct{ file, place, line string }{
		{"internal/plan/plan.go", "type Load struct {\n", "Burst bool `json:\"burst,omitempty\"`\n"},
		{"internal/profile/loop.go", "	switch o.Level.Mode {\n	case plan.Concurrency:\n", "if r.Plan.Load.Burst {\nreturn &engine.Burst{Size: o.Level.Concurrency}\n}\n"},
	} {
		text := read(t, filepath.Join(binary.Root(), c.file))
		if bytes.Count(text, []byte(c.place)) != 1 {
			t.Fatalf("%s has not one %q", c.file, c.place)
		}
		changed[c.file] = bytes.Replace(text, []byte(c.place), []byte(c.place+c.line), 1)
	}
	return changed
}

// checkLoop runs a plan that asks for the loop.
func checkLoop(t *testing.T, redline string) {
	result := filepath.Join(t.TempDir(), "result.json")
	if out, ok := run(t, redline, "profile", "-m", "simple", "--embedded", "--concurrency-range", "4", "-p", "200", "-s", "999", "--no-history", "--json", result); !ok {
		t.Fatal(out)
	}
	var whole map[string]any
	if err := json.Unmarshal(read(t, result), &whole); err != nil {
		t.Fatal(err)
	}
	whole["plan"].(map[string]any)["load"].(map[string]any)["burst"] = true
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(result, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, ok := run(t, redline, "rerun", result, "--no-history")
	if !ok || !strings.Contains(out, "Request concurrency: 4") || strings.Contains(out, "Request count: 0") {
		t.Errorf("the load loop does not work:\n%s", out)
	}
}
