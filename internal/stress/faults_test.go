package stress_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/stress"
	"github.com/redline-bench/redline/internal/testkit/sums"
)

// Options with which each thread sends whole sequences of eight requests with one correlation id: 1, 101, 201, 301.
const eights = "--common-contexts 1 --rare 0 --weights valid=1 --length-mean 8 --length-deviation 0"

func one(sums.Request) int32 { return 1 }

// only is true for one request.
func only(at sums.At) func(sums.Request) bool { return func(r sums.Request) bool { return r.At == at } }

// oneAt adds one to the response to one request.
func oneAt(at sums.At) func(sums.Request) int32 {
	return func(r sums.Request) int32 {
		if r.At == at {
			return 1
		}
		return 0
	}
}

// Each fault of a server ends the run in failures that name it, and in no others.
func TestFaultsAreNamed(t *testing.T) {
	third := sums.At{ID: "1", Sequence: 2, Position: 3}
	f := func(name string, fault stress.Fault, count int, text string, faults sums.Faults, args string) {
		t.Helper()
		sum, w := run(t, sums.Start(t, faults).Addr, options(t, strings.Fields(args)...), nil)
		if n := sum.Tally.Faults[fault]; sum.Passed() || len(sum.Tally.Faults) != 1 || n == 0 || count > 0 && n != count {
			t.Errorf("%s: want %d of %q:\n%s", name, count, fault, sum.Text())
			return
		}
		for _, failure := range w.faces {
			report := failure.Report()
			for _, part := range []string{"FAILED: " + string(fault), text, "replay: redline stress sequence m -u", "--replay "} {
				if !strings.Contains(report, part) {
					t.Errorf("%s: the report lacks %q:\n%s", name, part, report)
				}
			}
		}
	}
	f("one answer is off by one", stress.WrongAnswer, 1, "which is +1\n", sums.Faults{OffBy: oneAt(third)}, eights)
	f("an answer to another request", stress.Swapped, 1, "the answer to request 0 came where the one to", sums.Faults{OtherID: only(third)}, eights)
	f("an answer to another request, unary", stress.Swapped, 1, "the answer's id is not the request's", sums.Faults{OtherID: only(third)}, "--unary "+eights)
	f("END is lost", stress.LostEnd, 0, "the server went on with the sequence that had ended with", sums.Faults{KeepEnd: true}, "")
	f("START is not enforced", stress.StartIgnored, 0, "without START was answered", sums.Faults{AnyStart: true}, "")
	f("refused", stress.Refused, 1, "the server refused a request: Request for unknown model", sums.Faults{Away: only(third)}, eights)
	f("idle", stress.KeptIdle, 0, "after a pause of 20ms", sums.Faults{}, "--weights valid=5,idle=5 --idle-time 20ms")
	// Only the request that hangs is sent: another could be late on a busy machine.
	first := sums.At{ID: "1", Sequence: 1, Position: 1}
	f("late", stress.Late, 1, "no answer to request 1 of the sequence within 50ms", sums.Faults{Hang: only(first)}, "-t 1 -i 1 --timeout 50ms "+eights)
	f("late unary", stress.Late, 1, "no answer to request 1 of the sequence within 50ms", sums.Faults{Hang: only(first)}, "-t 1 -i 1 --timeout 50ms --unary "+eights)
}

// Sequences that are mixed up are named, with the one that the response belongs to, whatever the order of events.
func TestMixedUpSequencesAreNamed(t *testing.T) {
	at := func(id string, sequence, position int) sums.At {
		return sums.At{ID: id, Sequence: sequence, Position: position}
	}
	f := func(name, args string, faults func() sums.Faults, want ...string) {
		t.Helper()
		for _, way := range []string{"", " --unary"} {
			o := options(t, strings.Fields(eights+" "+args+way)...)
			sum, w := run(t, sums.Start(t, faults()).Addr, o, nil)
			var got []string
			for _, failure := range w.faces {
				_, text, _ := strings.Cut(failure.Text, ", which is ")
				got = append(got, failure.ID+" "+string(failure.Fault)+": "+strings.TrimLeft(text, "+-0123456789;: "))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || sum.Tally.Ended != o.Threads*10 {
				t.Errorf("%s%s: %s\n%s", name, way, diff, sum.Text())
			}
		}
	}
	f("two answers are exchanged", "", func() sums.Faults { return sums.SwapAnswers(at("1", 3, 5), at("101", 4, 6)) },
		"1 sequences mixed up: that is a sum of sequence 101 of thread_1, iteration 3, request 6",
		"101 sequences mixed up: that is a sum of sequence 1 of thread_0, iteration 2, request 5")
	f("two sums are exchanged", "", func() sums.Faults { return sums.SwapSums(at("1", 3, 5), at("101", 4, 6)) },
		"1 sequences mixed up: the value was added to a sum of sequence 101 of thread_1, iteration 3, request 5",
		"101 sequences mixed up: the value was added to a sum of sequence 1 of thread_0, iteration 2, request 4")
	f("the sum of the sequence before, with the same id", "", func() sums.Faults { return sums.StaleAnswer(at("1", 1, 4), at("1", 2, 5)) },
		"1 sequences mixed up: that is a sum of sequence 1 of thread_0, iteration 0, request 4")
	// The other thread is 8 sequences ahead when the wrong response comes.
	f("a late answer", "", func() sums.Faults {
		faults := sums.StaleAnswer(at("101", 1, 4), at("1", 1, 5))
		faults.Before = sums.Hold(at("1", 1, 5), at("101", 9, 1))
		return faults
	}, "1 sequences mixed up: that is a sum of sequence 101 of thread_1, iteration 0, request 4")
	// The other sequence had ended before the one that got its sum began.
	ended := func() sums.Faults {
		faults := sums.StaleAnswer(at("101", 1, 4), at("1", 10, 5))
		faults.Before = sums.Hold(at("1", 9, 1), at("101", 10, 1))
		return faults
	}
	f("the sum of a sequence that had ended", "", ended,
		"1 sequences mixed up: that is a sum of sequence 101 of thread_1, iteration 0, request 4, which had ended before")
	// There are so many sums that any response may be one: an old one proves nothing.
	f("a sum that may be chance", "-t 2 --values 2000", ended,
		"1 wrong answer: perhaps that is a sum of sequence 101 of thread_1, iteration 0, request 4, which had ended before, but among 160 sums that may be chance")
}

// A request without START that gets a sum of another sequence is not a proof that START is not enforced.
func TestAMixedUpAnswerInsteadOfARefusal(t *testing.T) {
	faults := sums.StaleAnswer(sums.At{ID: "1", Sequence: 1, Position: 4}, sums.At{ID: "1", Sequence: 1, Position: 9})
	faults.AnyStart = true
	o := options(t, strings.Fields("-t 1 --max-failures 1 "+eights+" --weights valid=5,no-start=1")...)
	_, w := run(t, sums.Start(t, faults).Addr, o, nil)
	var got []string
	for _, f := range w.faces {
		got = append(got, f.Pattern+": "+string(f.Fault)+": "+f.Text)
	}
	want := []string{`no-start: sequences mixed up: a first request without START was answered with 2372278 where the error ` +
		`"must specify the START flag" must come: that is a sum of sequence 1 of thread_0, iteration 0, request 4`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
