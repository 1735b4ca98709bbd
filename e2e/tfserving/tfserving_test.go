// Package tfserving_test loads a server built on the protocol files of tensorflow-serving-api from PyPI: messages
// and services are TensorFlow Serving's own, only what runs behind them is ours. TensorFlow itself, which that
// package wants too, is not needed: its messages come from a small package. It needs Python 3 with venv.
package tfserving_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/death"
	"github.com/redline-bench/redline/e2e/guide"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The command of perf_analyzer's guide. The report is that of the current version, the guide's is older.
func TestGuide(t *testing.T) {
	bin := binary.Built(t)
	addr, _ := start(t)
	guide.Check(t, &guide.Command{
		Program: filepath.Join(bin, "perf_analyzer"), Dir: t.TempDir(),
		Args: []string{"-m", "resnet50", "--service-kind", "tfserving", "-i", "grpc", "-b", "1", "-p", "5000", "-u", addr},
		Shows: `
*** Measurement Settings ***
  Batch size: #
  Service Kind: TENSORFLOW_SERVING
` + guide.Windows + guide.Level + `    Avg gRPC time: # usec ((un)marshal request/response # usec + response wait # usec)
` + guide.Summary,
	})
}

func TestServerDies(t *testing.T) {
	death.Check(t, &death.Case{
		Bin: binary.Built(t), Dir: t.TempDir(), Start: start,
		Args: []string{"-m", "resnet50", "--service-kind", "tfserving", "-i", "grpc", "-b", "1"},
	})
}

func TestServingProtocol(t *testing.T) {
	bin := binary.Built(t)
	addr, _ := start(t)
	dir := t.TempDir()
	run := func(args string) (stdout, stderr string, rc int) {
		t.Helper()
		all := append([]string{"--service-kind", "tfserving", "-i", "grpc", "-u", addr, "--request-count", "40"}, strings.Fields(args)...)
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "perf_analyzer"), all...)
		cmd.Dir = dir
		return binary.Output(t, cmd)
	}
	good := func(args string, want ...string) {
		t.Helper()
		out, errs, rc := run(args)
		for _, w := range append(want, "Service Kind: TENSORFLOW_SERVING", "Request count: 40", "Avg gRPC time: ") {
			if rc != 0 || !strings.Contains(out, w) {
				t.Fatalf("%s: rc %d, no %q\n%s\n%s", args, rc, w, out, errs)
			}
		}
	}
	bad := func(args, want string) {
		t.Helper()
		if out, errs, rc := run(args); rc != 99 || !strings.Contains(errs, want) {
			t.Errorf("%s: rc %d, no %q\n%s\n%s", args, rc, want, out, errs)
		}
	}
	// The server refuses values in a wrong field, so each of these is a check of the datatypes too.
	good("-m all -b 3", "Batch size: 3")
	good("-m all -b 1 --concurrency-range 4 --grpc-compression-algorithm gzip")
	good("-m all -b 1 --request-rate-range 20")
	good("-m fixed -x stable --input-data zero")
	good("-m any --shape x:2,5")
	good("-m fixed --model-signature-name other -H x-key:secret")

	bad("-m fixed -b 1", "-b needs a model whose inputs have the variable first dimension -1: leave -b out")
	bad("-m any -b 1", "-b needs a model whose inputs have a known number of dimensions: leave -b out")
	bad("-m fixed --model-signature-name none", `the model has no signature "none": see --model-signature-name`)
	bad("-m none", "refused model metadata of model \"none\": Servable not found for request: Latest(none)")
	bad("-m fixed -x 3", "refused model metadata of model \"fixed\": Unrecognized servable version label: 3")
	bad("-m fixed --model-signature-name other", "Thread [0] had error: signature other needs a key")

	// Values come back as they went out.
	write(t, filepath.Join(dir, "data.json"), `{"data":[{"x":[1,2,3,4,5,6]}],"validation_data":[{"out_x":[1,2,3,4,5,6]}]}`)
	good("-m fixed --input-data data.json")
	write(t, filepath.Join(dir, "wrong.json"), `{"data":[{"x":[1,2,3,4,5,6]}],"validation_data":[{"out_x":[1,2,3,4,5,7]}]}`)
	bad("-m fixed --input-data wrong.json", "Output doesn't match expected output")
}

// start runs the server and returns where it listens, and what kills it.
func start(t *testing.T) (addr string, kill func()) {
	t.Helper()
	venv, err := peers.InstallServingAPI(t.Context())
	if err != nil {
		outcome.NotTested(t, "the protocol of TensorFlow Serving", err, "python3 with venv")
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"), filepath.Join("testdata", "server.py"), "0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port), func() { _ = cmd.Process.Kill() }
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
