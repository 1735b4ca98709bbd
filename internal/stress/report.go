package stress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/unit"
)

// Header is printed before a run starts: the seed and the size of the run.
func Header(p *Plan) string {
	text := fmt.Sprintf("random seed = %d\nconcurrency = %d\n", p.Seed, p.Threads)
	if p.Iterations > 0 {
		text += fmt.Sprintf("iterations = %d\n", p.Iterations)
	}
	if p.Duration > 0 {
		text += fmt.Sprintf("duration = %s\n", p.Duration)
	}
	return text
}

// Report is the whole history of a failed sequence.
func (f *Failure) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "FAILED: %s: %s\n", f.Fault, f.Text)
	fmt.Fprintf(&b, "  thread_%d, iteration %d, correlation id %s, pattern %s, length %s\n", f.Thread, f.Iteration, f.ID, f.Pattern, lengths(f.Lengths))
	rows := [][]string{{"request", "flags", "value", "expected", "answer", "sent at", "took"}}
	for _, e := range f.History {
		want, answer := strconv.FormatInt(e.Want, 10), strconv.FormatInt(e.Answer, 10)
		if e.Step.Refused {
			want = "refusal"
		}
		if !e.Answered {
			answer = "error"
		}
		rows = append(rows, []string{
			strconv.Itoa(e.Step.Position + 1), flags(e.Step), strconv.FormatInt(e.Step.Value, 10), want, answer,
			milliseconds(e.Sent), milliseconds(e.Took),
		})
	}
	b.WriteString(columns.Text(rows, 1))
	if n := len(f.History); n > 0 && f.History[n-1].Error != "" {
		fmt.Fprintf(&b, "  error: %s\n", f.History[n-1].Error)
	}
	fmt.Fprintf(&b, "  replay: %s\n", f.Replay)
	return b.String()
}

func flags(s Step) string {
	var on []string
	if s.Start {
		on = append(on, "START")
	}
	if s.End {
		on = append(on, "END")
	}
	if len(on) == 0 {
		return "-"
	}
	return strings.Join(on, "+")
}

func lengths(n []int) string {
	text := make([]string, len(n))
	for i, v := range n {
		text[i] = strconv.Itoa(v)
	}
	return strings.Join(text, " and ")
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1e6, 'f', 3, 64) + " ms"
}

// Text is the report of the run.
func (s *Summary) Text() string {
	var b strings.Builder
	t := &s.Tally
	rows := [][]string{{"Patterns sent", "common", "rare"}}
	for _, p := range Patterns() {
		if n := t.Common[p] + t.Rare[p]; n > 0 || p != Idle {
			rows = append(rows, []string{"  " + p.String(), strconv.Itoa(t.Common[p]), strconv.Itoa(t.Rare[p])})
		}
	}
	b.WriteString(columns.Flush(rows, 1))
	b.WriteByte('\n')
	rows = [][]string{
		{"Requests sent", strconv.FormatUint(t.Requests, 10)},
		{"Results checked", strconv.FormatUint(t.Checked, 10)},
		{"Errors expected", strconv.Itoa(t.RefusedExpected)},
		{"Errors got", strconv.Itoa(t.RefusedAsExpected)},
		{"Wrong answers", strconv.Itoa(t.Faults[WrongAnswer] + t.Faults[Swapped])},
		{"Timeouts", strconv.Itoa(t.Faults[Late])},
	}
	for _, f := range slices.SortedFunc(maps.Keys(t.Faults), cmp.Compare[Fault]) {
		if f != WrongAnswer && f != Swapped && f != Late {
			rows = append(rows, []string{"Fault: " + string(f), strconv.Itoa(t.Faults[f])})
		}
	}
	rows = append(rows, s.disturbances()...)
	b.WriteString(columns.Flush(rows, 1))
	if len(s.Places) > 0 {
		b.WriteByte('\n')
		b.WriteString(columns.Flush(s.latencies(), 1))
	}
	for i := range s.Server {
		b.WriteString("\n" + serverText(&s.Server[i]))
	}
	fmt.Fprintf(&b, "\n%s\n", s.result())
	return b.String()
}

func (s *Summary) disturbances() (rows [][]string) {
	add := func(name string, n int) {
		if n > 0 {
			rows = append(rows, []string{name, strconv.Itoa(n)})
		}
	}
	add("Connections cut", s.Cuts)
	add("Model unloaded", s.Unloads)
	add("Sequences disturbed", s.Tally.Disturbed-s.Tally.Expired)
	add("Expired in the backlog", s.Tally.Expired)
	add("Not judged", s.Tally.Unjudged)
	return rows
}

func (s *Summary) latencies() [][]string {
	rows := [][]string{{"Latency by position (usec)", "requests", "avg", "p50", "p99", "max"}}
	us := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	for _, p := range s.Places {
		name := "  " + strconv.Itoa(p.First)
		switch {
		case p.Last == 0:
			name += " and on"
		case p.Last > p.First:
			name += " to " + strconv.Itoa(p.Last)
		}
		rows = append(rows, []string{name, strconv.FormatUint(p.Count, 10), us(p.Avg), us(p.P50), us(p.P99), us(p.Max)})
	}
	return rows
}

func serverText(m *service.ModelStats) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Server statistics of %s version %s during the run\n", m.Name, m.Version)
	perBatch := 0.0
	if m.ExecutionCount > 0 {
		perBatch = float64(m.InferenceCount) / float64(m.ExecutionCount)
	}
	fmt.Fprintf(&b, "  %d inferences in %d executions, %.2f per batch\n", m.InferenceCount, m.ExecutionCount, perBatch)
	us := func(t service.Tally) uint64 { return t.Avg() / 1000 }
	fmt.Fprintf(&b, "  avg usec: request %d, queue %d, compute input %d, infer %d, output %d\n",
		us(m.Success), us(m.Queue), us(m.ComputeInput), us(m.ComputeInfer), us(m.ComputeOutput))
	return b.String()
}

func (s *Summary) result() string {
	took := s.Took.Round(time.Millisecond)
	switch {
	case !s.Passed():
		return fmt.Sprintf("FAILED: %d of %d iterations in %s; the seed is %d", len(s.Failures), s.Tally.Ended, took, s.Seed)
	case s.Error != "":
		return fmt.Sprintf("Ended early: %s without a fault in %s", unit.Count(s.Tally.Ended, "iteration"), took)
	case s.Interrupted:
		return fmt.Sprintf("Interrupted: %s without a fault in %s", unit.Count(s.Tally.Ended, "iteration"), took)
	}
	return fmt.Sprintf("Passed: %s in %s", unit.Count(s.Tally.Ended, "iteration"), took)
}

func (r *run) logThread(t *thread) {
	if r.plan.Verbose > 0 {
		r.cfg.Observer.Line(fmt.Sprintf("Starting thread %s with seed %d", t.name(), t.seed))
	}
}

func (r *run) logPass(l *line) {
	if r.plan.Verbose == 0 {
		return
	}
	p := l.pass
	text := fmt.Sprintf("%s %s: %s seqlen = %d", l.t.name(), l.name, p.Pattern, p.Lengths[0])
	if len(p.Lengths) > 1 {
		text = fmt.Sprintf("%s %s: %s seqlen[0] = %d, seqlen[1] = %d", l.t.name(), l.name, p.Pattern, p.Lengths[0], p.Lengths[1])
	}
	r.cfg.Observer.Line(text)
}

func (r *run) logAnswer(l *line, e *Event) {
	if r.plan.Verbose < 2 {
		return
	}
	answer := strconv.FormatInt(e.Answer, 10)
	if !e.Answered {
		answer = e.Error
	}
	r.cfg.Observer.Line(fmt.Sprintf("%s %s: + %d = %s", l.t.name(), l.name, e.Step.Value, answer))
}
