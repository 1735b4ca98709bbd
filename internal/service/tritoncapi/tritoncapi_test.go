package tritoncapi

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

func TestMissingPaths(t *testing.T) {
	dir, repository := t.TempDir(), t.TempDir()
	f := func(dir, repository, want string) {
		t.Helper()
		_, err := New(plan.Target{ServerDirectory: dir, ModelRepository: repository}, plan.Input{})
		var se *service.Error
		if !errors.As(err, &se) || se.Op != OpCreate || se.Error() != service.NoSuchPath.With(want).Error() {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f("/no/such/dir", repository, "/no/such/dir")
	f(dir, repository, dir+"/lib/libtritonserver.so")
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, libraryName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f(dir, "/no/such/repo", "/no/such/repo")
}

// What a crashed run left is removed; what others use is not.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"redline_capi_7_a", "redline_capi_7_b", "redline_capi_77_a", "triton_python_backend_shm_region_1"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sweep(dir, 7)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "redline_capi_77_a" {
		t.Errorf("left: %v, %v", left, err)
	}
}
