// Package stress runs redline stress and redline simple against the real Triton and against servers that are wrong on
// purpose.
package stress

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/certs"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

var right = []string{`^Wrong answers +0$`, `^Timeouts +0$`, `^Passed: `}

// run starts the program and returns what it printed and its exit code.
func run(t *testing.T, bin, line string) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), strings.Fields(line)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// expect runs a command line and searches for lines in what it prints.
func expect(t *testing.T, bin string, code int, line string, wants ...string) {
	t.Helper()
	text, got := run(t, bin, line)
	check(t, text, got, code, wants)
}

// check looks at an exit code and at the output.
func check(t *testing.T, text string, got, code int, wants []string) {
	t.Helper()
	if got != code {
		t.Fatalf("exit code %d, want %d\n%s", got, code, text)
	}
	for _, want := range wants {
		if !regexp.MustCompile("(?m)" + want).MatchString(text) {
			t.Errorf("the output lacks %q:\n%s", want, text)
		}
	}
}

// Patterns of all threads on a model that has a slot for each sequence and keeps idle ones: no sequence waits until
// another was forgotten, and none is forgotten because the machine is busy.
func TestReferenceServer(t *testing.T) {
	bin, flat, models := binary.Built(t), t.TempDir(), t.TempDir()
	widen(t, flat, "stress_direct", "wide", "max_batch_size: 4", "max_batch_size: 96",
		`backend: "python"`, `backend: "accumulate"`, `default_model_filename: "accumulate.py"`, "")
	if err := peers.Repository(flat, models); err != nil {
		t.Fatal(err)
	}
	server := binary.Served(t, bin, "--model-repository", models)
	addresses := strings.NewReplacer("{http}", server.HTTP, "{grpc}", server.GRPC)
	try := func(name, line string, wants ...string) {
		t.Run(name, func(t *testing.T) {
			expect(t, bin, 0, addresses.Replace(line)+" -r 7 --timeout 60s", append(wants, right...)...)
		})
	}
	try("the whole test", "stress sequence wide -u {grpc}", `^Passed: 1600 iterations`, `^Errors got +11$`)
	try("http", "stress sequence wide -i 20 --protocol http -u {http}")
	try("http with a URL", "stress sequence wide -i 5 --protocol http -u http://{http}/")
	try("grpc with a URL", "stress sequence wide -i 5 -u http://{grpc}/")
	try("cuts with a URL", "stress sequence wide -i 5 --protocol http -u http://{http}/ --cut 10ms")
	try("unary", "stress sequence wide -i 20 --unary --overlap 10 -u {grpc}")
	try("backlog", "stress sequence --embedded -i 5 --overlap 10")
	t.Run("a password", func(t *testing.T) {
		for _, line := range []string{"stress sequence none -i 1 --protocol http -u http://user:secret@{http}", "stress sequence -i 1 -u user:secret@127.0.0.1:1"} {
			if text, code := run(t, bin, addresses.Replace(line)); code != 1 || strings.Contains(text, "secret") {
				t.Errorf("%s: exit code %d, want 1 and no password:\n%s", line, code, text)
			}
		}
	})
}

// An https:// address is asked over TLS, with the certificates that the machine trusts.
func TestHTTPS(t *testing.T) {
	bin, authority := binary.Built(t), certs.Authority{Dir: t.TempDir()}
	trusted, _ := authority.Issue(t, "authority")
	cert, key := authority.Issue(t, "server")
	server := binary.Served(t, bin, "--tls-cert", cert, "--tls-key", key)
	t.Setenv("SSL_CERT_FILE", trusted)
	expect(t, bin, 0, "stress sequence -t 1 -i 2 --weights valid=1 --rare 0 --timeout 60s --protocol http -u https://"+server.HTTP+"/", right...)
}

// widen writes a model of e2e/models under another name, with long patience for idle sequences and other words replaced.
func widen(t *testing.T, to, model, name string, replace ...string) {
	t.Helper()
	text := string(read(t, model+".pbtxt"))
	replace = append(replace, "microseconds: 1000000", "microseconds: 600000000")
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("model %s has no %q", model, replace[i])
		}
		text = strings.ReplaceAll(text, replace[i], replace[i+1])
	}
	write(t, to, name+".pbtxt", []byte(text))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(binary.Root(), "e2e", "models", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, to, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// stubLost is in what Triton says where the Python process of a model has missed its heartbeat, as on a busy machine.
// Triton starts another, which knows no sums: that tells nothing of the client.
const stubLost = " is not healthy."

func TestRealTriton(t *testing.T) {
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "stress and simple against the real Triton", err, "python3 with venv")
	}
	bin, flat := binary.Built(t), t.TempDir()
	for _, name := range []string{
		"stress_direct.pbtxt", "stress_oldest.pbtxt", "identity_fp32.pbtxt", "identity_nobatch.pbtxt", "simple.pbtxt",
		"accumulate.py", "accumulate_named.py", "identity.py", "add_sub.py",
	} {
		write(t, flat, name, read(t, name))
	}
	widen(t, flat, "stress_direct", "wide", "direct { }", "oldest { max_candidate_sequences: 96 }")
	widen(t, flat, "stress_string", "wide_string", "direct { }", "oldest { max_candidate_sequences: 96 }")
	keeper := peers.Keep(t, func() (*peers.Triton, error) { return p.StartTritonWith(t.Context(), t.TempDir(), []string{flat}) })
	at := func(triton *peers.Triton, line string) string {
		return strings.NewReplacer("{http}", triton.HTTP, "{grpc}", triton.GRPC).Replace(line)
	}
	try := func(name string, code int, line string, wants ...string) {
		t.Run(name, func(t *testing.T) {
			hung := false
			for range 5 {
				triton := keeper.Triton()
				text, got := run(t, bin, at(triton, line))
				switch {
				case got != code && strings.Contains(text, "Deadline Exceeded") && !hung:
					// Triton 2.51 sometimes stops answering all clients until it is restarted. A faulty client would time out again.
					hung = true
					keeper.Replace(t, triton, "Triton gave no answer within the timeout")
				case strings.Contains(text, stubLost):
					t.Logf("PEER CRASHED: %s", stubLost)
				case got != code && keeper.Crashed(t, triton):
				default:
					check(t, text, got, code, wants)
					return
				}
			}
			outcome.Inconclusive(t, "Triton crashed, or lost the process of its model, five times")
		})
	}
	passes := func(name, line string, wants ...string) {
		try(name, 0, "stress sequence -r 7 --timeout 60s "+line, append(wants, right...)...)
	}
	t.Run("the whole test", func(t *testing.T) {
		outcome.HeavyOnly(t, "1,600 iterations against the real Triton")
		expect(t, bin, 0, at(keeper.Triton(), "stress sequence stress_direct -u {grpc} -r 7"), append(right, `^Passed: 1600 iterations`, `^Errors got +11$`)...)
	})
	passes("direct", "stress_direct -u {grpc} -i 6")
	passes("oldest", "stress_oldest -u {grpc} -i 6")
	passes("backlog", "stress_direct -u {grpc} -i 6 --overlap 10")
	passes("idle", "stress_direct -u {grpc} -t 4 -i 2 --rare 0 --weights valid=1,idle=1", `^  idle +[1-9]`)
	passes("cuts", "stress_direct -u {grpc} -i 6 --cut 100ms", `^Connections cut +[1-9]`)
	passes("streams", "wide -u {grpc} -i 20")
	passes("http", "wide --protocol http -u {http} -i 20")
	passes("unary", "wide --unary -u {grpc} -i 20")
	passes("string ids", "wide_string --string-ids -u {grpc} -i 20")
	passes("string ids over HTTP", "wide_string --string-ids --protocol http -u {http} -i 20")
	passes("string ids, unary", "wide_string --string-ids --unary -u {grpc} -i 20")
	try("ids that are numbers, over HTTP", 1, "stress sequence stress_direct --string-ids --protocol http -u {http} -i 1", "needs a CORRID of TYPE_STRING")
	try("ids that are numbers", 1, "stress sequence stress_direct --string-ids -u {grpc} -i 1", "needs a CORRID of TYPE_STRING")
	try("simple over HTTP", 0, "simple -m identity_fp32 -s 16 -u {http} -c 100 -w 10", "^Throughput: ")
	try("simple over gRPC", 0, "simple -m identity_nobatch -s 16 -i grpc -u {grpc} -c 100 -w 10", "^Throughput: ")
	try("simple refuses", 1, "simple -m simple -u {http}", "^expecting 1 input, got 2$")
}
