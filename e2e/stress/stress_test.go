// Package stress runs redline stress and redline simple against the real Triton.
package stress

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

var right = []string{`^Wrong answers +0$`, `^Timeouts +0$`, `^Passed: `}

// expect runs a command line and looks for lines in what it prints.
func expect(t *testing.T, bin string, code int, line string, wants ...string) {
	t.Helper()
	text, got := run(t, bin, strings.Fields(line))
	if got != code {
		t.Fatalf("exit code %d, want %d\n%s", got, code, text)
	}
	for _, want := range wants {
		if !regexp.MustCompile("(?m)" + want).MatchString(text) {
			t.Errorf("the output lacks %q:\n%s", want, text)
		}
	}
}

func TestReferenceServer(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, bin, 0, "stress sequence --embedded -r 7", append(right, `^Passed: 1600 iterations`, `^Errors got +11$`)...)
	expect(t, bin, 0, "stress sequence --embedded -r 7 -i 20 --protocol http", right...)
	expect(t, bin, 0, "stress sequence --embedded -r 7 -i 20 --unary --overlap 10 --timeout 60s", right...)
}

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
	try := func(name string, code int, line string, wants ...string) {
		t.Run(name, func(t *testing.T) { expect(t, bin, code, addresses.Replace(line), wants...) })
		if err := triton.Err(); err != nil {
			t.Fatal(err)
		}
	}
	try("the whole test", 0, "stress sequence stress_direct -u {grpc} -r 7", append(right, `^Passed: 1600 iterations`, `^Errors got +11$`)...)
	try("oldest", 0, "stress sequence stress_oldest -u {grpc} -r 7 -i 20", right...)
	try("http", 0, "stress sequence stress_direct --protocol http -u {http} -r 7 -i 20", right...)
	try("unary", 0, "stress sequence stress_direct --unary -u {grpc} -r 7 -i 20", right...)
	try("string ids", 0, "stress sequence stress_string --string-ids -u {grpc} -r 7 -i 20", right...)
	try("string ids over HTTP", 0, "stress sequence stress_string --string-ids --protocol http -u {http} -r 7 -i 20", right...)
	try("string ids, unary", 0, "stress sequence stress_string --string-ids --unary -u {grpc} -r 7 -i 20", right...)
	try("ids that are numbers, over HTTP", 1, "stress sequence stress_direct --string-ids --protocol http -u {http} -i 1", "needs a CORRID of TYPE_STRING")
	try("ids that are numbers", 1, "stress sequence stress_direct --string-ids -u {grpc} -i 1", "needs a CORRID of TYPE_STRING")
	try("idle", 0, "stress sequence stress_direct -u {grpc} -r 7 -i 10 --weights valid=8,idle=2", append(right, `^  idle +[1-9]`)...)
	try("backlog", 0, "stress sequence stress_direct -u {grpc} -r 7 -i 20 --overlap 10 --timeout 60s", right...)
	try("cuts", 0, "stress sequence stress_direct -u {grpc} -r 7 -i 20 --cut 200ms", append(right, `^Connections cut +[1-9]`)...)
	try("simple over HTTP", 0, "simple -m identity_fp32 -s 16 -u {http} -c 100 -w 10", "^Throughput: ")
	try("simple over gRPC", 0, "simple -m identity_nobatch -s 16 -i grpc -u {grpc} -c 100 -w 10", "^Throughput: ")
	try("simple refuses", 1, "simple -m simple -u {http}", "^expecting 1 input, got 2$")
}
