// Package clients_test runs clients that other people wrote, unchanged, against `redline serve`: Triton's Python client
// in all its forms, the official OpenAI client, the protocol files of TensorFlow Serving, and the real perf_analyzer.
package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// start runs a reference server of the built program until the test ends.
func start(t *testing.T, options ...string) *binary.Server {
	t.Helper()
	return binary.Served(t, binary.Built(t), options...)
}

// python returns the module path that the scripts need, or ends the test.
func python(t *testing.T) string {
	t.Helper()
	p, err := peers.Install(t.Context())
	if err != nil {
		notTested(t, err)
	}
	dir, err := peers.InstallClients(t.Context())
	if err != nil {
		notTested(t, err)
	}
	return strings.Join([]string{dir, filepath.Join(p.Dir, "client")}, string(os.PathListSeparator))
}

func notTested(t *testing.T, err error) {
	t.Helper()
	outcome.NotTested(t, "Python clients on the reference server", err, "python3 with venv")
}

// Every function of every script is a test of its own.
func TestPythonClients(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	modules := python(t)
	models := reshaped(t)
	s := start(t, "--model-control-mode", "explicit", "--load-model", "*", "--model-repository", models)
	addresses, err := json.Marshal(s.Ports)
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"kserve_http", "kserve_grpc", "kserve_aio", "examples", "language", "streams", "faults", "others"} {
		t.Run(script, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "python3", "run.py", script)
			cmd.Dir = "scripts"
			cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "ADDRESSES="+string(addresses))
			if script == "others" {
				// TensorFlow Serving's protocol files were generated long ago: only this form still reads them.
				cmd.Env = append(cmd.Env, "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=python")
			}
			out, err := cmd.CombinedOutput()
			report(t, out)
			if err != nil && !t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if text := s.Stderr.String(); text != "" {
		t.Errorf("the server complained: %s", text)
	}
}

// report turns the lines of run.py into subtests; what follows a failure is its trace.
func report(t *testing.T, out []byte) {
	t.Helper()
	var name, state string
	var trace strings.Builder
	flush := func() {
		if name == "" {
			return
		}
		t.Run(name, func(t *testing.T) {
			if state == "FAIL" {
				t.Error(trace.String())
			}
		})
		trace.Reset()
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if (word == "ok" || word == "FAIL") && strings.HasPrefix(rest, "test_") {
			flush()
			state, name = word, strings.TrimPrefix(rest, "test_")
			continue
		}
		trace.WriteString(lines.Text() + "\n")
	}
	flush()
	if name == "" {
		t.Errorf("no test ran:\n%s", out)
	}
}

// reshaped makes a model repository with what the built-in models do not have: shapes that differ between clients and the model.
func reshaped(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"reshaped/1/.keep": "",
		"reshaped/3/.keep": "",
		"reshaped/config.pbtxt": `backend: "identity" max_batch_size: 4
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ 1 ] reshape { shape: [ ] } } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 1 ] reshape { shape: [ ] } } ]`,
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
