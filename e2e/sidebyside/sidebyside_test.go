// Package sidebyside_test sends the same wrong requests to a real Triton and to `redline serve`, with the same models,
// and compares status and text: clients match on both.
package sidebyside_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// two are the servers to compare, started once.
type two struct {
	triton *peers.Triton
	ours   *binary.Server
}

// both starts the servers, or skips the test, loudly.
func both(t *testing.T) *two {
	t.Helper()
	if testing.Short() {
		t.Skip("short")
	}
	p, err := peers.Install(t.Context())
	if err != nil {
		t.Skipf("**** NOT TESTED: answers to wrong requests beside a real Triton: %v ****", err)
	}
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var s two
	var failed error
	var wait sync.WaitGroup
	tritonDir := t.TempDir()
	wait.Go(func() { s.triton, failed = p.StartTriton(t.Context(), tritonDir) })
	s.ours, err = binary.Serve(t.TempDir(), filepath.Join(bin, "redline"), "serve", "--model-repository", repository(t))
	wait.Wait()
	if failed == nil {
		t.Cleanup(s.triton.Stop)
	}
	if err == nil {
		t.Cleanup(s.ours.Stop)
	}
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return &s
}

var pythonModel = regexp.MustCompile(`backend: "python"\ndefault_model_filename: "(.+)\.py"`)

// repository lays out Triton's test models over the backends of the reference server, which have the same names as the
// Python files.
func repository(t *testing.T) string {
	t.Helper()
	flat, dir := t.TempDir(), t.TempDir()
	configs, err := filepath.Glob(filepath.Join(binary.Root(), "e2e", "models", "*.pbtxt"))
	if err != nil || len(configs) == 0 {
		t.Fatal("no models: ", err)
	}
	for _, config := range configs {
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		if code := pythonModel.FindSubmatch(text); code != nil && !slices.Contains([]string{"identity", "add_sub", "accumulate", "repeat"}, string(code[1])) {
			continue // a model of another test, whose code has no counterpart
		}
		text = pythonModel.ReplaceAll(text, []byte(`backend: "$1"`))
		if err := os.WriteFile(filepath.Join(flat, filepath.Base(config)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := peers.Repository(flat, dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
