// Package dynamicgrpc_test loads a service made with grpcio-tools from PyPI, step by step as perf_analyzer's guide
// does, and in Redline's own ways. It needs Python 3 with venv.
package dynamicgrpc_test

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

type rig struct {
	t    *testing.T
	bin  string
	dir  string // holds the data, the generated code and the generator
	venv string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	venv, err := peers.InstallGRPCTools(t.Context())
	if err != nil {
		outcome.NotTested(t, "a Python gRPC service", err, "python3 with venv")
	}
	bin := binary.Built(t)
	r := &rig{t: t, bin: bin, dir: t.TempDir(), venv: venv}
	for _, name := range []string{"simple.proto", "server.py", "example.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		r.write(name, string(text))
	}
	generate := exec.CommandContext(t.Context(), filepath.Join(r.venv, "bin", "python"), "-m", "grpc_tools.protoc", "--proto_path="+r.dir,
		"--python_out="+r.dir, "--grpc_python_out="+r.dir, filepath.Join(r.dir, "simple.proto"))
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("protoc: %v\n%s", err, out)
	}
	r.write("inputs.json", `{"data":[{"message_generator":"python3 example.py"}]}`)
	r.write("missing.json", `{"data":[{"message_generator":"python3 missing.py"}]}`)
	r.write("many.json", `{"data":[{"messages":[{"message":"a"},{"message":"b"}]},{"messages":{"message":"c"}}]}`)
	r.write("hello.json", `{"data":[{"messages":{"message":"hello"}}]}`)
	return r
}

// The command of the guide, with the '=' after -u, which perf_analyzer takes for a part of the address.
func TestGuide(t *testing.T) {
	r := newRig(t)
	guide.Check(t, &guide.Command{
		Program: filepath.Join(r.bin, "perf_analyzer"), Dir: r.dir, Env: r.env(),
		Args: []string{"--service-kind=dynamic_grpc", "-u=" + r.start(), "--input-data=inputs.json", "--grpc-method=v1.Simple/Echo"},
		Shows: `
 Successfully read data for # stream/streams with # step/steps.
*** Measurement Settings ***
  Service Kind: DYNAMIC_GRPC
` + guide.Windows + guide.Level + `    Avg gRPC time: # usec ((un)marshal request/response # usec + response wait # usec)
` + guide.Summary,
	})
}

func TestServerDies(t *testing.T) {
	r := newRig(t)
	// Beforehand: an interpreter's start may outlast the server.
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.venv, "bin", "python"), "example.py")
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	messages, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	r.write("messages", string(messages))
	r.write("ready.json", `{"data":[{"message_generator":"cat messages"}]}`)
	death.Check(t, &death.Case{
		Bin: r.bin, Dir: r.dir, Env: r.env(), Start: func(t *testing.T) (string, func()) {
			t.Helper()
			return r.launch()
		},
		Args: []string{"--service-kind", "dynamic_grpc", "--input-data", "ready.json", "--grpc-method", "v1.Simple/Echo"},
	})
}

func TestDynamicGRPC(t *testing.T) {
	r := newRig(t)
	plain, open := r.start(), r.start("reflection")
	r.good("perf_analyzer", "--service-kind=dynamic_grpc -u="+plain+" --input-data=inputs.json --grpc-method=v1.Simple/Echo --request-count=50",
		" Successfully read data for 1 stream/streams with 1 step/steps.", "Service Kind: DYNAMIC_GRPC", "Request count: 50", "Avg gRPC time: ")
	r.good("perf_analyzer", "--service-kind dynamic_grpc -u "+plain+" --input-data inputs.json --grpc-method v1.Simple/Echo --request-rate-range 50 --request-count 60",
		"Request count: 60")
	r.bad("perf_analyzer", "--service-kind dynamic_grpc -u "+plain+" --input-data inputs.json --grpc-method v1.Simple/None",
		"Thread [0] had error: v1.Simple/None ended with status Unimplemented")
	r.bad("perf_analyzer", "--service-kind dynamic_grpc -u "+plain+" --input-data missing.json --grpc-method v1.Simple/Echo",
		`message generator "python3 missing.py": exit status 2`)

	own := "profile --service-kind dynamic_grpc --request-count 40 --concurrency-range 4 "
	r.good("redline", own+"-u "+plain+" --input-data many.json --grpc-method v1.Simple/Echo --proto simple.proto", "Request count: 40")
	r.good("redline", own+"-u "+open+" --input-data many.json --grpc-method v1.Simple/Echo --grpc-compression-algorithm gzip -i grpc", "Request count: 40")
	r.good("redline", own+"-u "+open+" --input-data hello.json --grpc-method v1.Simple/Once", "Request count: 40")
	r.bad("redline", own+"-u "+open+" --input-data many.json --grpc-method v1.Simple/Once", "v1.Simple/Once takes one message a call")
	r.bad("redline", own+"-u "+plain+" --input-data many.json --grpc-method v1.Simple/Echo", "does not describe itself (no gRPC reflection)")
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) run(program, args string) (stdout, stderr string, rc int) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), filepath.Join(r.bin, program), strings.Fields(args)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), r.env()...)
	return binary.Output(r.t, cmd)
}

// env lets python3 be the one that has gRPC's tools.
func (r *rig) env() []string {
	return []string{"PATH=" + filepath.Join(r.venv, "bin") + ":" + os.Getenv("PATH")}
}

func (r *rig) good(program, args string, want ...string) {
	r.t.Helper()
	out, errs, rc := r.run(program, args)
	for _, w := range want {
		if rc != 0 || !strings.Contains(out, w) {
			r.t.Fatalf("%s %s: rc %d, no %q\n%s\n%s", program, args, rc, w, out, errs)
		}
	}
}

func (r *rig) bad(program, args, want string) {
	r.t.Helper()
	if out, errs, rc := r.run(program, args); rc != 99 || !strings.Contains(errs, want) {
		r.t.Errorf("%s %s: rc %d, no %q\n%s\n%s", program, args, rc, want, out, errs)
	}
}

// start runs the service and returns where it listens.
func (r *rig) start(args ...string) string {
	r.t.Helper()
	addr, _ := r.launch(args...)
	return addr
}

// launch is start for a service that can be killed.
func (r *rig) launch(args ...string) (addr string, kill func()) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), filepath.Join(r.venv, "bin", "python"), append([]string{"server.py"}, args...)...)
	cmd.Dir, cmd.Stderr = r.dir, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.t.Fatalf("the service did not start: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port), func() { _ = cmd.Process.Kill() }
}
