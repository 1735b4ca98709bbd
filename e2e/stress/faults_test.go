package stress

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/sums"
)

// Against a server that is wrong on purpose the program ends with 1, names the fault, and prints a command that sends
// the sequence again: that finds a lasting fault once more, and nothing on a server that is right.
func TestWrongServers(t *testing.T) {
	bin := binary.Built(t)
	// Only faults of time have a limit of time, and a server that is right has none.
	const limit, none = "--timeout 200ms", "--timeout 0"
	f := func(name string, faults sums.Faults, lasting bool, want, extra string) {
		t.Run(name, func(t *testing.T) {
			broken, right := sums.Start(t, faults), sums.Start(t, sums.Faults{})
			text, code := run(t, bin, "stress sequence m -r 1 -t 4 -i 40 -u "+broken.Addr+" "+extra)
			if code != 1 || !strings.Contains(text, "FAILED: "+want) {
				t.Fatalf("exit code %d, want 1 and %q\n%s", code, want, text)
			}
			block := regexp.MustCompile(`(?m)^FAILED: ` + regexp.QuoteMeta(want) + `(?:.*\n)+?  replay: redline (.*)$`).FindStringSubmatch(text)
			if block == nil {
				t.Fatalf("no replay:\n%s", text)
			}
			replay := block[1]
			if text, code := run(t, bin, strings.NewReplacer(broken.Addr, right.Addr, limit, none).Replace(replay)); code != 0 {
				t.Errorf("the replay finds a fault in a server that is right:\n%s", text)
			}
			if !lasting {
				return
			}
			if text, code := run(t, bin, replay); code != 1 || !strings.Contains(text, "FAILED: "+want) {
				t.Errorf("the replay ends with %d and does not find it again:\n%s", code, text)
			}
		})
	}
	one, other := sums.At{ID: "1", Sequence: 3, Position: 5}, sums.At{ID: "101", Sequence: 4, Position: 6}
	offByOne := func(r sums.Request) int32 {
		if r.At == one {
			return 1
		}
		return 0
	}
	const starts = none + " --weights valid=60,valid-valid=10,valid-no-end=5,no-end=5,no-start=20"
	const eights = none + " --common-contexts 1 --rare 0 --weights valid=1 --length-mean 8 --length-deviation 0"
	f("one sum is off by one", sums.Faults{OffBy: offByOne}, false, "wrong answer: ", eights)
	f("every sum is off by one", sums.Faults{OffBy: func(sums.Request) int32 { return 1 }}, true, "wrong answer: ", none)
	f("two answers are swapped", sums.SwapAnswers(one, other), false, "sequences mixed up: ", eights)
	f("two sums are swapped", sums.SwapSums(one, other), false, "sequences mixed up: ", eights)
	f("END is lost", sums.Faults{KeepEnd: true}, true, "END was lost: ", starts)
	f("START is not enforced", sums.Faults{AnyStart: true}, true, "START is not enforced: ", starts)
	f("a sequence hangs", sums.Faults{Hang: func(r sums.Request) bool { return r.N == 500 }}, false, "timeout: ", limit+" --max-failures 1000")
	f("every sequence hangs", sums.Faults{Hang: func(r sums.Request) bool { return r.N > 500 }}, true, "timeout: ", limit)
}
