package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/result"
)

// A baseline, and the folder of a history, may come from a stranger: they are read, or refused with one line.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema":1,"tool":"redline","levels":[{"concurrency":1,"windows":[{}]}]}`))
	f.Add([]byte(`{"schema":99999,"tool":"redline"}`))
	f.Add([]byte(`{"schema":1,"tool":"other","levels":[{}]}`))
	f.Add([]byte(`{"id":"a","start":"2024-01-02T03:04:05Z","bytes":-1}`))
	f.Add([]byte("{\"schema\":1,\"tool\":\"redline\",\"levels\":[{\"x\":\"\\\"{\"}"))
	dir := f.TempDir()
	store := &history.Store{Dir: dir}
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		res, err := history.Decode("file", content)
		switch {
		case err == nil && res.Schema > result.Schema:
			t.Error("a newer result is taken")
		case err != nil && (res != nil || strings.Contains(err.Error(), "\n")):
			t.Errorf("result %v, error %q", res, err)
		case errors.Is(err, history.ErrForeign) && res != nil:
			t.Error("a foreign result is taken")
		}
		for _, name := range []string{"index.jsonl", "a/run.json"} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list, err := store.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.ID != "a" {
				t.Errorf("run %q has no folder", e.ID)
			}
		}
	})
}
