// Package generated holds files of the repository to what tests make of the code. With -update a test writes its file.
package generated

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write generated files instead of comparing them")

// File fails the test unless the file has this text. command writes the file anew.
func File(t *testing.T, path, want, command string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale, run %s: %s", path, command, diff)
	}
}
