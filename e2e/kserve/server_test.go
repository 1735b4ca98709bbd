package kserve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// server is a real server whose models count what they are given.
type server struct {
	t          *testing.T
	http, grpc string
	counts     string // the folder of the models' counts
}

// count is what a model was given so far.
type count struct{ Requests, Items int }

func (s *server) count(model string) (c count) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.counts, model))
	if errors.Is(err, fs.ErrNotExist) {
		return c
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// startMLServer starts MLServer with the models echo, bare, which states no inputs, and three, which streams.
func startMLServer(t *testing.T) *server {
	t.Helper()
	venv := installed(t, "MLServer", peers.MLServer)
	dir, ports := t.TempDir(), freePorts(t, 3)
	code, err := os.ReadFile(filepath.Join("testdata", "mlserver", "model.py"))
	if err != nil {
		t.Fatal(err)
	}
	const tensors = `, "inputs": [{"name": "IN", "datatype": "FP32", "shape": [-1, 4]}], "outputs": [{"name": "OUT", "datatype": "FP32", "shape": [-1, 4]}]`
	for name, more := range map[string]string{"echo": `"model.Echo"` + tensors, "bare": `"model.Echo"`, "three": `"model.Three"` + tensors} {
		write(t, filepath.Join(dir, name, "model.py"), string(code))
		write(t, filepath.Join(dir, name, "model-settings.json"), fmt.Sprintf(`{"name": %q, "implementation": %s}`, name, more))
	}
	write(t, filepath.Join(dir, "settings.json"), fmt.Sprintf(
		`{"host": "127.0.0.1", "http_port": %d, "grpc_port": %d, "metrics_port": %d, "parallel_workers": 0}`, ports[0], ports[1], ports[2]))
	return launch(t, "three", ports, filepath.Join(venv, "bin", "mlserver"), "start", dir)
}

// startKServe starts KServe's own runtime with the model echo, whose inputs it does not state.
func startKServe(t *testing.T) *server {
	t.Helper()
	venv := installed(t, "KServe's runtime", peers.KServe)
	ports := freePorts(t, 2)
	script, err := filepath.Abs(filepath.Join("testdata", "kserve", "server.py"))
	if err != nil {
		t.Fatal(err)
	}
	return launch(t, "echo", ports, filepath.Join(venv, "bin", "python"), script, strconv.Itoa(ports[0]), strconv.Itoa(ports[1]))
}

func installed(t *testing.T, name, list string) (venv string) {
	t.Helper()
	venv, err := peers.InstallList(t.Context(), list)
	if err != nil {
		outcome.NotTested(t, name, err, "python3 with venv")
	}
	return venv
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports, err := peers.FreePorts(n)
	if err != nil {
		t.Fatal(err)
	}
	return ports
}

// launch runs a server for the time of the test and waits until it has loaded a model. The first port is that of HTTP, the second
// that of gRPC.
func launch(t *testing.T, model string, ports []int, program string, args ...string) *server {
	t.Helper()
	at := func(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
	s := &server{t: t, http: at(ports[0]), grpc: at(ports[1]), counts: t.TempDir()}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "COUNTS="+s.counts, "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its workers too
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server's log ends with\n%s", text[max(0, len(text)-4000):])
		}
	})
	limit := time.After(testkit.Limit)
	for !s.ready(model) {
		select {
		case err := <-ended:
			t.Fatalf("the server ended before it was ready: %v", err)
		case <-limit:
			t.Fatal("the server does not get ready")
		case <-time.After(100 * time.Millisecond):
		}
	}
	return s
}

// ready tells whether a model can be asked over HTTP, and whether somebody listens for gRPC.
func (s *server) ready(model string) bool {
	if peers.Status(s.t.Context(), "http://"+s.http+"/v2/models/"+model+"/ready") != http.StatusOK {
		return false
	}
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", s.grpc)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
