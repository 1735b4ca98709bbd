package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/tune"
)

// name writes a candidate by the names of --vary.
func (s *session) name(values []string) string {
	parts := make([]string, len(values))
	for i, k := range s.space.knobs {
		parts[i] = k.Name + "=" + cmp.Or(values[i], "as given")
	}
	return strings.Join(parts, " ")
}

func (s *session) head() {
	if s.turn != "" {
		fmt.Fprintf(s.Stdout, "Model %s, %d of %d\n\n", s.turn, s.place, s.places)
	}
	fmt.Fprintln(s.Stdout, "Searching for the configuration that takes the highest load while the objectives hold")
	fmt.Fprintf(s.Stdout, "  objectives: %s\n", strings.Join(s.objectives(), ", "))
	if m, ok := s.base.(*mix); ok {
		parts := convert.All(m.members, func(one member) string { return fmt.Sprintf("%s %.3g %%", one.name, 100*one.share) })
		fmt.Fprintf(s.Stdout, "  the models get the load together: %s of the requests\n", strings.Join(parts, ", "))
	}
	for _, k := range s.space.knobs {
		now := ""
		if k.present != "" {
			now = "; now " + k.present
		}
		fmt.Fprintf(s.Stdout, "  %s: %s%s\n", k.Name, strings.Join(k.Values, ", "), now)
	}
	for _, r := range s.space.remarks {
		fmt.Fprintf(s.Stdout, "  %s\n", r)
	}
	size, first := s.search.Size(), s.search.Planned()
	switch {
	case size == 1:
		fmt.Fprintf(s.Stdout, "  one candidate is measured")
	case first >= size:
		fmt.Fprintf(s.Stdout, "  all %d candidates are measured", size)
	default:
		fmt.Fprintf(s.Stdout, "  %d candidates: %d spread over the space are measured first, then those near the best", size, first)
	}
	if s.opts.budget > 0 {
		fmt.Fprintf(s.Stdout, "; at most %s", s.opts.budget)
	}
	fmt.Fprintf(s.Stdout, "\n\n%-8s  %6s  %-16s  %9s  %s\n", "stage", "time", s.unit(), "p99", "candidate")
}

// unit is that of capacities in tables. Requests of several models may have different batches.
func (s *session) unit() string {
	if len(s.together) > 0 {
		return "requests/s"
	}
	return "inferences/s"
}

// row prints one measurement.
func (s *session) row(step tune.Step, e *entry, known bool) {
	took, p99 := fmt.Sprintf("%.1fs", e.Seconds), ""
	if known {
		took = "known"
	}
	if e.Figures.P99Ms > 0 {
		p99 = fmt.Sprintf("%.1f ms", e.Figures.P99Ms)
	}
	why := ""
	if e.Failed != "" {
		why = ": " + cleantext.Cut(e.Failed, 200)
	}
	fmt.Fprintf(s.Stdout, "%-8s  %6s  %-16s  %9s  %s%s\n", step.Stage, took, e.load(), p99, s.name(e.Values), why)
}

// load is what is known of a capacity.
func (e *entry) load() string {
	switch {
	case e.Failed != "":
		return "none"
	case e.Value > 0:
		return number(e.Value)
	case e.Low > 0 && e.High != nil:
		return number(e.Low) + " to " + number(*e.High)
	case e.Low > 0:
		return "at least " + number(e.Low)
	case e.High != nil:
		return "below " + number(*e.High)
	}
	return "unknown"
}

// progress redraws the progress line.
func (s *session) progress(now measure.Sight, c *candidate) {
	step := c.search.Step()
	if step.Do == find.Finish {
		return
	}
	text := fmt.Sprintf("%s, %s at %s requests/s", s.name(c.values), c.step.Stage, number(step.Load))
	elapsed := time.Since(s.began)
	s.Line.Show(term.Status{
		Level: text, Elapsed: elapsed, Window: max(elapsed, s.opts.budget), Requests: uint64(now.Requests), Failed: uint64(now.Failures), Rate: now.Rate, Median: now.Median,
	})
}

// answer prints what was found.
func (s *session) answer(res *result.Result) {
	t := res.Tune
	fmt.Fprintln(s.Stdout)
	s.table(t)
	switch {
	case t.Best != nil:
		s.best(t)
	case t.State == complete && !t.ClientLimited():
		fmt.Fprintln(s.Stdout, "No candidate holds the objectives: allow more in --slo, or vary other settings")
	default:
		fmt.Fprintln(s.Stdout, "No candidate was seen to hold the objectives")
	}
	if t.Reason != "" {
		fmt.Fprintf(s.Stdout, "Not everything was measured: %s\n", cleantext.Line(t.Reason))
	}
	if s.resumed > 0 {
		fmt.Fprintf(s.Stdout, "%d measurements are of an earlier search\n", s.resumed)
	}
	for _, c := range t.Configs {
		s.config(&c)
	}
	fmt.Fprintln(s.Stdout)
	report.Verdict(s.Stdout, res, s.Style())
}

// mostRows is how many candidates the table on the screen has.
const mostRows = 12

// table prints the best candidates, and the one that the server had.
func (s *session) table(t *result.Tune) {
	list := make([]*result.TuneCandidate, len(t.Candidates))
	for i := range t.Candidates {
		list[i] = &t.Candidates[i]
	}
	slices.SortStableFunc(list, func(a, b *result.TuneCandidate) int { return cmp.Compare(b.Inferences, a.Inferences) })
	w := tabwriter.NewWriter(s.Stdout, 0, 8, 2, ' ', 0)
	heads := []string{s.unit(), "p99 ms", "queue ms", "compute ms"}
	gpu := slices.ContainsFunc(list, func(c *result.TuneCandidate) bool { return c.GPU != nil })
	if gpu {
		heads = append(heads, "GPU MB", "GPU W")
	}
	for _, k := range s.space.knobs {
		heads = append(heads, k.Name)
	}
	rows := [][]string{append(heads, "remark")}
	hidden := 0
	for i, c := range list {
		if i >= mostRows && !c.Present {
			hidden++
			continue
		}
		rows = append(rows, s.cells(t, c, gpu))
	}
	for _, row := range columns.Fit(rows, []string{"compute ms", "queue ms", "GPU W", "GPU MB"}, s.Style().TableWidth()) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // standard output reports its own errors
	if hidden > 0 {
		fmt.Fprintf(s.Stdout, "%d more candidates are in --json, --csv and --report\n", hidden)
	}
	fmt.Fprintln(s.Stdout)
}

func (s *session) cells(t *result.Tune, c *result.TuneCandidate, gpu bool) []string {
	e := s.entries[strings.Join(s.knobValues(c), "\n")]
	row := []string{e.load(), "", "", ""}
	if c.P99Ms > 0 {
		row[1] = fmt.Sprintf("%.1f", c.P99Ms)
	}
	if c.Server != nil {
		row[2] = fmt.Sprintf("%.2f", c.Server.QueueMs)
		row[3] = fmt.Sprintf("%.2f", c.Server.ComputeInputMs+c.Server.ComputeInferMs+c.Server.ComputeOutputMs)
	}
	if gpu {
		memory, power, _ := c.GPU.Sums()
		row = append(row, known(memory/1e6), known(power))
	}
	row = append(row, s.knobValues(c)...)
	var remarks []string
	if t.Best == c {
		remarks = append(remarks, "best")
	}
	if c.Present {
		remarks = append(remarks, "now")
	}
	if c.Pareto && t.Best != c {
		remarks = append(remarks, "Pareto front")
	}
	if c.LimitedBy != "" && c.Failed == "" {
		remarks = append(remarks, "the client is the limit")
	}
	if c.Failed != "" {
		remarks = append(remarks, cleantext.Cut(c.Failed, 120))
	}
	return append(row, strings.Join(remarks, ", "))
}

// known writes a figure; 0 is not known.
func known(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

// knobValues are the values of a candidate in the order of the knobs.
func (s *session) knobValues(c *result.TuneCandidate) []string {
	return convert.All(s.space.knobs, func(k knob) string { return fmt.Sprint(c.Knobs[k.Name]) })
}

// best prints the answer, how it compares with what the server had, and which knob mattered.
func (s *session) best(t *result.Tune) {
	b := t.Best
	fmt.Fprintf(s.Stdout, "Best: %s\n", s.name(s.knobValues(b)))
	capacity := fmt.Sprintf("%s requests/s", number(b.Capacity))
	if b.Batch > 1 {
		capacity += fmt.Sprintf(" of %d, %s inferences/s", b.Batch, number(b.Inferences))
	}
	switch {
	case b.LimitedBy != "":
		capacity = "at least " + capacity + ": " + clientLimit
	case b.Stage != tune.Find.String():
		capacity += ", estimated from short probes"
	case b.High != nil:
		capacity += fmt.Sprintf(" (between %s and %s)", number(b.Low), number(*b.High))
	}
	fmt.Fprintf(s.Stdout, "  capacity: %s\n", capacity)
	for _, m := range b.Models {
		fmt.Fprintf(s.Stdout, "    %s: %s requests/s, p99 %.1f ms\n", m.Model, number(m.Rate), m.P99Ms)
	}
	for i := range t.Candidates {
		if c := &t.Candidates[i]; c.Present && c != b && c.Inferences > 0 {
			about := ""
			if e := s.entries[strings.Join(s.knobValues(c), "\n")]; e.Value == 0 {
				about = "about "
			}
			fmt.Fprintf(s.Stdout, "  now: %s%s requests/s with %s; the best takes %s%.2f times as much\n", about, number(c.Capacity), s.name(s.knobValues(c)), about, b.Inferences/c.Inferences)
		} else if c.Present && c == b {
			fmt.Fprintln(s.Stdout, "  the server has this configuration already")
		}
	}
	knobs := slices.Clone(t.Knobs)
	slices.SortStableFunc(knobs, func(a, b result.TuneKnob) int { return cmp.Compare(b.Ratio, a.Ratio) })
	var mattered []string
	for _, k := range knobs {
		if k.Ratio > 0 {
			mattered = append(mattered, fmt.Sprintf("%s ×%.2f", k.Name, k.Ratio))
		}
	}
	if len(mattered) > 0 {
		fmt.Fprintf(s.Stdout, "  what mattered, the best against the worst value of each: %s\n", strings.Join(mattered, ", "))
	}
	fmt.Fprintf(s.Stdout, "  %s measured, with %d loads\n", s.measured(t), t.Probes)
}

// measured says how many candidates were measured. The present one may not be in the space.
func (s *session) measured(t *result.Tune) string {
	in := len(t.Candidates)
	if slices.Contains(s.present(), tune.NotListed) {
		in--
	}
	text := fmt.Sprintf("%d of %d candidates", in, t.Space)
	if in < len(t.Candidates) {
		text += " and the present configuration"
	}
	return text
}

// config prints the difference to the old configuration and, unless a file gets it, the new one.
func (s *session) config(c *result.TuneConfig) {
	if c.Diff == "" {
		fmt.Fprintf(s.Stdout, "\nThe configuration of %s stays as it is.\n", c.Model)
		return
	}
	fmt.Fprintf(s.Stdout, "\n%s", c.Diff)
	if s.opts.config == "" {
		fmt.Fprintf(s.Stdout, "\nconfig.pbtxt of %s (--best-config FILE writes it):\n\n%s", c.Model, c.Text)
	}
}
