// Package stress runs redline stress and redline simple against the real Triton.
package stress

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

func TestRealTriton(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	p, err := peers.Install(t.Context())
	if err != nil {
		t.Skipf("**** NOT TESTED: stress and simple against the real Triton: %v ****", err)
	}
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	triton, err := p.StartTriton(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(triton.Stop)
	addresses := strings.NewReplacer("{http}", triton.HTTP, "{grpc}", triton.GRPC)
	run := func(name string, code int, line string, wants ...string) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), strings.Fields(addresses.Replace(line))...)
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
				t.Fatal(err)
			} else if got := cmd.ProcessState.ExitCode(); got != code {
				t.Fatalf("exit code %d, want %d: %v\n%s", got, code, exit, out.String())
			}
			for _, want := range wants {
				if !regexp.MustCompile("(?m)" + want).Match(out.Bytes()) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
		})
		if err := triton.Err(); err != nil {
			t.Fatal(err)
		}
	}
	right := []string{`^Wrong answers +0$`, `^Timeouts +0$`, `^Passed: `}
	run("the whole test", 0, "stress sequence stress_direct -u {grpc} -r 7", append(right, `^Passed: 1600 iterations`, `^Errors got +11$`)...)
	run("oldest", 0, "stress sequence stress_oldest -u {grpc} -r 7 -i 20", right...)
	run("http", 0, "stress sequence stress_direct --protocol http -u {http} -r 7 -i 20", right...)
	run("unary", 0, "stress sequence stress_direct --unary -u {grpc} -r 7 -i 20", right...)
	run("string ids", 0, "stress sequence stress_string --string-ids -u {grpc} -r 7 -i 20", right...)
	run("string ids over HTTP", 0, "stress sequence stress_string --string-ids --protocol http -u {http} -r 7 -i 20", right...)
	run("string ids, unary", 0, "stress sequence stress_string --string-ids --unary -u {grpc} -r 7 -i 20", right...)
	run("ids that are numbers, over HTTP", 1, "stress sequence stress_direct --string-ids --protocol http -u {http} -i 1", "needs a CORRID of TYPE_STRING")
	run("ids that are numbers", 1, "stress sequence stress_direct --string-ids -u {grpc} -i 1", "needs a CORRID of TYPE_STRING")
	run("idle", 0, "stress sequence stress_direct -u {grpc} -r 7 -i 10 --weights valid=8,idle=2", append(right, `^  idle +[1-9]`)...)
	run("backlog", 0, "stress sequence stress_direct -u {grpc} -r 7 -i 20 --overlap 10 --timeout 60s", right...)
	run("cuts", 0, "stress sequence stress_direct -u {grpc} -r 7 -i 20 --cut 200ms", append(right, `^Connections cut +[1-9]`)...)
	run("simple over HTTP", 0, "simple -m identity_fp32 -s 16 -u {http} -c 100 -w 10", "^Throughput: ")
	run("simple over gRPC", 0, "simple -m identity_nobatch -s 16 -i grpc -u {grpc} -c 100 -w 10", "^Throughput: ")
	run("simple refuses", 1, "simple -m simple -u {http}", "^expecting 1 input, got 2$")
}
