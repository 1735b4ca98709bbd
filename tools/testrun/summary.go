package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// summary prints the outcome, the worst at the end, where it is seen.
func (r *runner) summary(took time.Duration) {
	l := &r.log
	fmt.Fprintf(r.out, "\n==== summary\n")
	list(r.out, "packages that took 20 s or more", l.slow)
	list(r.out, "skipped: cannot apply on this system", counted(l.skip))
	list(r.out, "left to make test-heavy", counted(l.heavy))
	listLines(r.out, "crashes of other programs; their tests were run again", l.crashes)
	list(r.out, "NOT CHECKED: the network does not allow it", l.unchecked)
	list(r.out, "NOT TESTED on this machine", byReason(counted(l.notTested)))
	list(r.out, "INCONCLUSIVE: other work on the machine disturbed the measurement; run them alone", l.inconclusive)
	list(r.out, "FAILED", counted(l.failed))
	fmt.Fprintln(r.out, "stages:")
	var cpu time.Duration
	for _, s := range r.stages {
		end := "ok"
		if !s.ok {
			end = "FAILED"
		}
		cpu += s.cpu
		fmt.Fprintf(r.out, "  %-22s %6s  CPU %6s  %s\n", s.name, clock(s.took), clock(s.cpu), end)
	}
	fmt.Fprintf(r.out, "  %-22s %6s  CPU %6s  CI=%s, %d inconclusive, %d not tested, %d left to make test-heavy\n",
		"in all", clock(took), clock(cpu), os.Getenv("CI"), len(l.inconclusive), len(l.notTested), len(l.heavy))
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", l.passed, len(l.failed),
		len(l.inconclusive)+len(l.notTested)+len(l.heavy)+len(l.skip))
}

// list prints findings under a heading; nothing if there are none.
func list(out io.Writer, heading string, findings []finding) {
	if len(findings) == 0 {
		return
	}
	fmt.Fprintf(out, "%s:\n", heading)
	for _, f := range findings {
		line := f.what
		if f.reason != "" {
			line += ": " + f.reason
		}
		fmt.Fprintln(out, "  "+line)
	}
}

// listLines prints lines under a heading; nothing if there are none.
func listLines(out io.Writer, heading string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(out, "%s:\n  %s\n", heading, strings.Join(lines, "\n  "))
	}
}

// byReason joins tests that were not tested for the same reason into one line.
func byReason(findings []finding) []finding {
	var joined []finding
	for _, f := range findings {
		at := slices.IndexFunc(joined, func(j finding) bool { return f.reason != "" && j.reason == f.reason })
		if at < 0 {
			joined = append(joined, f)
			continue
		}
		if strings.Count(joined[at].what, ", ") < 3 {
			joined[at].what += ", " + f.what
		} else if !strings.HasSuffix(joined[at].what, " …") {
			joined[at].what += " …"
		}
	}
	return joined
}

// counted joins the findings about one test that ran several times, the most frequent first.
func counted(findings []finding) []finding {
	times := map[string]int{}
	var joined []finding
	for _, f := range findings {
		if times[f.what]++; times[f.what] == 1 {
			joined = append(joined, f)
		}
	}
	slices.SortStableFunc(joined, func(a, b finding) int { return times[b.what] - times[a.what] })
	for i, f := range joined {
		if n := times[f.what]; n > 1 {
			joined[i].what = fmt.Sprintf("%s (%d times)", f.what, n)
		}
	}
	return joined
}

// clock shows a duration as minutes and seconds.
func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
