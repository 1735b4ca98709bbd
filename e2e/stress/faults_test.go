package stress

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/sums"
)

// run starts the program and returns what it printed and its exit code.
func run(t *testing.T, bin string, args []string) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// Against a server that is wrong on purpose the program ends with 1, names the fault, and prints a command that sends
// the sequence again: that finds a lasting fault once more, and nothing on a server that is right.
func TestWrongServers(t *testing.T) {
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, faults sums.Faults, lasting bool, want, extra string) {
		t.Run(name, func(t *testing.T) {
			broken, right := sums.Start(t, faults), sums.Start(t, sums.Faults{})
			line := "stress sequence m -r 1 -t 4 -i 40 -u " + broken.Addr + " " + extra
			text, code := run(t, bin, strings.Fields(line))
			if code != 1 || !strings.Contains(text, "FAILED: "+want) {
				t.Fatalf("exit code %d, want 1 and %q\n%s", code, want, text)
			}
			story := regexp.MustCompile(`(?m)^FAILED: ` + regexp.QuoteMeta(want) + `(?:.*\n)+?  replay: redline (.*)$`).FindStringSubmatch(text)
			if story == nil {
				t.Fatalf("no replay:\n%s", text)
			}
			if text, code := run(t, bin, strings.Fields(strings.ReplaceAll(story[1], broken.Addr, right.Addr))); code != 0 {
				t.Errorf("the replay finds a fault in a server that is right:\n%s", text)
			}
			if text, code := run(t, bin, strings.Fields(story[1])); lasting && (code != 1 || !strings.Contains(text, "FAILED: "+want)) {
				t.Errorf("the replay ends with %d and does not find it again:\n%s", code, text)
			}
		})
	}
	oneAt := func(which int) func(int) int32 {
		return func(n int) int32 {
			if n == which {
				return 1
			}
			return 0
		}
	}
	const starts = "--weights valid=60,valid-valid=10,valid-no-end=5,no-end=5,no-start=20"
	const alone = "--common-contexts 1 --rare 0 --weights valid=1"
	f("the 1,000th sum is off by one", sums.Faults{OffBy: oneAt(1000)}, false, "wrong answer: ", "")
	f("every sum is off by one", sums.Faults{OffBy: func(int) int32 { return 1 }}, true, "wrong answer: ", "")
	f("two answers are swapped", sums.Faults{SwapAnswers: true}, false, "sequences mixed up: ", alone)
	f("two sums are swapped", sums.Faults{SwapSums: true}, false, "sequences mixed up: ", alone)
	f("END is lost", sums.Faults{KeepEnd: true}, true, "END was lost: ", starts)
	f("START is not enforced", sums.Faults{AnyStart: true}, true, "START is not enforced: ", starts)
	f("a sequence hangs", sums.Faults{Hang: func(n int) bool { return n == 500 }}, false, "timeout: ", "--timeout 1s --max-failures 1000")
	f("every sequence hangs", sums.Faults{Hang: func(n int) bool { return n > 500 }}, true, "timeout: ", "--timeout 1s")
}
