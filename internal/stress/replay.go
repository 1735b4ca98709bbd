package stress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// replay is a selection of iterations of one thread.
type replay struct {
	thread     int
	iterations []int
}

// parseReplay reads THREAD:ITERATION[,ITERATION...]; nil for no text.
func parseReplay(text string, threads int) (*replay, error) {
	if text == "" {
		return nil, nil
	}
	bad := fmt.Errorf("--replay is THREAD:ITERATION[,ITERATION...], as a failure prints it, not %q", text)
	before, after, ok := strings.Cut(text, ":")
	thread, err := strconv.Atoi(before)
	if !ok || err != nil || thread < 0 {
		return nil, bad
	}
	if thread >= threads {
		return nil, fmt.Errorf("--replay %s: no thread %d: use -t %d or more", text, thread, thread+1)
	}
	r := &replay{thread: thread}
	for part := range strings.SplitSeq(after, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n > 1e9 {
			return nil, bad
		}
		r.iterations = append(r.iterations, n)
	}
	slices.Sort(r.iterations)
	return r, nil
}

// of returns the selected passes of a thread. The others are drawn and skipped, so that the random numbers stay the same.
func (r *replay) of(thread int, g *generator) func() *Pass {
	left := r.iterations
	return func() *Pass {
		for thread == r.thread && len(left) > 0 {
			if p := g.pass(); p.Iteration == left[0] {
				left = left[1:]
				return p
			}
		}
		return nil
	}
}

// replayCommand returns the command that sends the line's pass again, and the previous pass of the same id if the expected
// responses depend on it.
func (r *run) replayCommand(l *line) string {
	which := strconv.Itoa(l.pass.Iteration)
	if l.pass.Pattern == NoStart && l.before != nil {
		which = strconv.Itoa(l.before.Iteration) + "," + which
	}
	args := r.plan.args()
	return "redline stress sequence " + strings.Join(append(args, "--replay", strconv.Itoa(l.t.id)+":"+which), " ")
}
