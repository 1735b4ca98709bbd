package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// TestSharedMemoryIsGivenBack: no region is left after a run that was interrupted, and those of a run that was killed
// have gone after the next one, on the machine and at the server.
func TestSharedMemoryIsGivenBack(t *testing.T) {
	srv, err := startServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	for _, protocol := range []string{"http", "grpc"} {
		start := func() *exec.Cmd {
			t.Helper()
			var out binary.Buffer
			cmd := exec.Command(filepath.Join(bin, "redline"), "profile", "-m", "simple", "-i", protocol, "-u", srv.Address(protocol),
				"--shared-memory", "system", "--measurement-mode", "count_windows", "--measurement-request-count", "500", "-r", "100000", "-s", "0", "--input-data", "testdata/data/checked.json", "--concurrency-range", "2", "-v")
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the load", func() bool { return strings.Contains(out.String(), "Pass [1]") })
			// Two inputs, and two outputs for each of two slots.
			if n, m := len(objects(cmd)), strings.Count(registered(t, srv), `"name"`); n != 6 || m != 6 {
				t.Errorf("%s: %d objects, %d of them registered", protocol, n, m)
			}
			return cmd
		}
		cmd := start()
		_ = cmd.Process.Signal(syscall.SIGINT)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
			t.Errorf("%s: interrupted: %v", protocol, cmd.ProcessState)
		}
		if left, known := objects(cmd), registered(t, srv); len(left) > 0 || known != "[]" {
			t.Errorf("%s: after the interrupt: %v, %s", protocol, left, known)
		}

		killed := start()
		_ = killed.Process.Kill()
		_ = killed.Wait()
		if len(objects(killed)) == 0 {
			t.Errorf("%s: nothing is left of a run that was killed: the test shows nothing", protocol)
		}
		// The kernel takes a killed process's locks away in its own time.
		eventually(t, "the end of what a killed run left", func() bool {
			out, err := exec.Command(filepath.Join(bin, "redline"), "profile", "-m", "simple", "-i", protocol, "-u", srv.Address(protocol),
				"--shared-memory", "system", "--request-count", "50").CombinedOutput()
			if err != nil {
				t.Fatalf("%s: the next run: %v\n%s", protocol, err, out)
			}
			return len(objects(killed)) == 0
		})
		if known := registered(t, srv); known != "[]" {
			t.Errorf("%s: after the next run: %s", protocol, known)
		}
	}
}

// objects are a process's shared memory objects.
func objects(cmd *exec.Cmd) []string {
	list, _ := filepath.Glob(fmt.Sprintf("/dev/shm/redline-%d-*", cmd.Process.Pid))
	return list
}

// registered is what the server says of its regions.
func registered(t *testing.T, srv *binary.Server) string {
	t.Helper()
	_, text := testkit.Ask(t, http.MethodGet, "http://"+srv.HTTP+"/v2/systemsharedmemory/status", nil)
	return text
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Limit); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited in vain", what)
		}
	}
}
