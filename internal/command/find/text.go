package find

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/unit"
)

// number writes a load with four digits.
func number(v float64) string { return unit.Digits(v, 4) }

// load names a load with its unit.
func (s *session) load(v float64) string { return (&result.Find{By: s.opts.by}).Load(v) }

func (s *session) head(single time.Duration) {
	what := map[string]string{byRate: "request rate", byConcurrency: "concurrency", byUsers: "number of users"}[s.opts.by]
	p := s.opts.scenario()
	switch {
	case p != nil && p.fixed > 0:
		fmt.Fprintf(s.Stdout, "MLPerf-like %s scenario, not an MLPerf result: %s\n", p.title, s.load(s.opts.first))
	case p != nil:
		fmt.Fprintf(s.Stdout, "MLPerf-like %s scenario, not an MLPerf result: searching for the highest %s\n", p.title, what)
	default:
		fmt.Fprintf(s.Stdout, "Searching for the highest %s at which the objectives hold\n", what)
	}
	for _, t := range s.tiers {
		rules := convert.All(t.Objectives, func(r gate.Rule) string { return r.Text })
		name := "  objectives: "
		if len(s.tiers) > 1 {
			name = "  tier " + t.Name + ": "
		}
		fmt.Fprintln(s.Stdout, name+strings.Join(rules, ", "))
	}
	if s.note != "" {
		fmt.Fprintln(s.Stdout, "  "+s.note)
	}
	fmt.Fprintf(s.Stdout, "  single requests take %s; at most %s left\n\n", single.Round(10*time.Microsecond), s.search.Remaining().Round(time.Second))
	fmt.Fprintf(s.Stdout, "%5s  %12s  %-8s  %7s  %-12s  %s\n", "probe", "load", "purpose", "time", "decision", "why")
}

// showProbes prints the probes that have ended since the last call.
func (s *session) showProbes() {
	if s.search == nil {
		return
	}
	a := s.search.Answer()
	for ; s.shown < len(a.Probes); s.shown++ {
		p := &a.Probes[s.shown]
		if p.End == find.Running {
			return
		}
		j := p.Judgments[p.Tier]
		verdict := string(j.Verdict)
		if !j.Decided && j.Verdict != find.Unknown {
			verdict += "?"
		}
		fmt.Fprintf(s.Stdout, "%5d  %12s  %-8s  %6.1fs  %-12s  %s\n", s.shown+1, number(p.Load), p.Purpose, p.Last.Elapsed.Seconds(), verdict, cleantext.Cut(j.Why, 300))
		if p.Unrecovered {
			fmt.Fprintf(s.Stdout, "%5s  the server had not recovered from this overload when the next probe began\n", "")
		}
	}
}

// progress redraws the progress line.
func (s *session) progress(sight measure.Sight) {
	step, a := s.search.Step(), s.search.Answer()
	if step.Do == find.Finish || len(a.Probes) == 0 {
		return
	}
	p := &a.Probes[step.Probe]
	text := fmt.Sprintf("%s, probe %d at %s", s.bracket(&a.Capacities[p.Tier]), step.Probe+1, s.load(step.Load))
	if step.Do == find.Check {
		text = "checking that the server has recovered at " + s.load(step.Load)
	} else if p.Judgments != nil && p.Last.Readings != nil {
		text += ", " + p.Judgments[p.Tier].Why
	}
	elapsed := time.Since(s.began)
	s.Line.Show(term.Status{
		Level: text, Elapsed: elapsed, Window: elapsed + s.search.Remaining(), Requests: uint64(sight.Requests), Failed: uint64(sight.Failures),
		Rate: sight.Rate, Median: sight.Median,
	})
}

// bracket is where the capacity lies.
func (s *session) bracket(c *find.Capacity) string {
	switch iv := c.Interval; {
	case iv.Low > 0 && !iv.Open:
		return fmt.Sprintf("between %s and %s", number(iv.Low), s.load(iv.High))
	case iv.Low > 0:
		return "above " + s.load(iv.Low)
	case !iv.Open:
		return "below " + s.load(iv.High)
	}
	return "no bracket yet"
}

// answer prints what was found.
func (s *session) answer(res *result.Result) {
	f := res.Find
	fmt.Fprintln(s.Stdout)
	if p := s.opts.scenario(); p != nil && p.fixed > 0 {
		s.scenarioFigure(p, res)
	} else if len(f.Tiers) == 0 {
		for _, line := range s.words(&f.FindAnswer) {
			fmt.Fprintln(s.Stdout, line)
		}
	} else {
		s.tierTable(f.Tiers)
	}
	if n := len(res.Levels); n > 0 {
		report.Server(s.Stdout, &res.Levels[n-1], s.Style())
	}
	if f.Reason != "" && !slices.ContainsFunc(res.Verdict.Reasons, func(r result.Reason) bool { return r.What == f.Reason }) {
		fmt.Fprintf(s.Stdout, "The search is not complete: %s\n", cleantext.Line(f.Reason))
	}
	fmt.Fprintln(s.Stdout)
	report.Fleet(s.Stdout, res.Fleet)
	report.Verdict(s.Stdout, res, s.Style())
}

// words are the answer in sentences.
func (s *session) words(a *result.FindAnswer) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch find.Outcome(a.Outcome) {
	case find.Found:
		add("Capacity: %s%s", s.load(a.Capacity.Value), interval(a))
		add("  %s", confirmed(a))
		add("  objective that fails first above it: %s", a.Binding)
	case find.AllHold:
		add("Capacity: at least %s, the highest load: all objectives hold there", s.load(a.Capacity.Value))
		add("  %s", confirmed(a))
		add("  nearest to its limit: %s; raise --highest to search above", a.Binding)
	case find.NoneHolds:
		add("No capacity: %s does not hold even at the lowest load", a.Binding)
		add("  allow more in --slo, or lower --lowest")
	case find.ClientLimit:
		add("No capacity: the client reached its limit before the server did")
		if a.Bracket.Low > 0 {
			add("  the server holds the objectives up to at least %s", s.load(a.Bracket.Low))
		}
		add("  use a faster client, or one on another machine")
	case find.Open:
		if a.Bracket.Low == 0 && a.Bracket.Open {
			add("No capacity yet: no load surely holds or fails the objectives so far")
			break
		}
		c := find.Capacity{Interval: a.Bracket}
		add("No capacity yet: it lies %s", s.bracket(&c))
	}
	if a.Knee > 0 && a.Capacity != nil {
		add("  knee of the curve: %s; above it, latency grows faster than the load", s.load(a.Knee))
	}
	return out
}

func interval(a *result.FindAnswer) string {
	if a.Capacity.Open {
		return fmt.Sprintf(" (at least %s)", number(a.Capacity.Low))
	}
	return fmt.Sprintf(" (between %s and %s)", number(a.Capacity.Low), number(a.Capacity.High))
}

func confirmed(a *result.FindAnswer) string {
	if a.Confirmed {
		return "confirmed: the last run held every objective, and with the probes around it kept clear of the limits"
	}
	return "not confirmed: in the last run an objective was too near to its limit, or had too few requests to tell"
}

// tierTable prints one row for each tier.
func (s *session) tierTable(tiers []result.FindAnswer) {
	w := tabwriter.NewWriter(s.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "tier\tcapacity\tinterval\tfails first\tobjectives")
	for i := range tiers {
		t := &tiers[i]
		value, iv := t.Outcome, ""
		if t.Capacity != nil {
			value, iv = s.load(t.Capacity.Value), strings.Trim(interval(t), " ()")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Tier, value, iv, t.Binding, strings.Join(t.Objectives, " "))
	}
	_ = w.Flush() // standard output reports its own errors
}

// scenarioFigure prints the number of a scenario that has one load.
func (s *session) scenarioFigure(p *preset, res *result.Result) {
	if len(res.Levels) == 0 {
		fmt.Fprintf(s.Stdout, "MLPerf-like %s: no figure\n", p.title)
		return
	}
	lv := &res.Levels[0]
	got, _ := lv.Read(p.figure)
	fmt.Fprintf(s.Stdout, "MLPerf-like %s: %s %s, over %d requests in %.0f s; not an MLPerf result\n",
		p.title, p.figure, gate.Figure(got), lv.Client.Requests, float64(lv.Client.DurationNs)/1e9)
	if want := uint64(p.requests); lv.Client.Requests < want || s.opts.confirm < presetTime {
		fmt.Fprintf(s.Stdout, "  shorter than the scenario: at least %d requests in at least %v\n", p.requests, presetTime)
	}
}
