//go:build !(native && cgo && linux)

package tritoncapi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
)

// A program that cannot load the library says which one can.
func TestNotNative(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, libraryName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := New(plan.Target{ServerDirectory: dir, ModelRepository: dir}, plan.Input{}); !errors.Is(err, ErrNotNative) {
		t.Errorf("got %v", err)
	}
}
