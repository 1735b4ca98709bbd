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
	fmt.Fprintf(s.Stdout, "  single requests take %s; %s\n\n", unit.Span(float64(single)), s.ends())
	fmt.Fprintf(s.Stdout, "%5s  %12s  %-8s  %7s  %-12s  %s\n", "probe", "load", "purpose", "time", "decision", "why")
}

// ends says when the search ends.
func (s *session) ends() string {
	if left := s.search.Remaining(); left > 0 {
		return fmt.Sprintf("the search ends in %v at the latest (--budget)", left.Round(time.Second))
	}
	return "the search has no limit of time (--budget)"
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

// now is the search as the live page shows it.
func (s *session) now() *result.Find {
	f, step := s.search.Result(s.opts.by), s.search.Step()
	f.Preset = s.opts.preset
	switch step.Do {
	case find.Run:
		f.Next = fmt.Sprintf("Now: probe %d (%s) at %s, %s at most; ", step.Probe+1, step.Purpose, s.load(step.Load), unit.Span(float64(step.Limit)))
	case find.Drain:
		f.Next = "Now: waiting for the requests in flight, then the next probe; "
	case find.Check:
		f.Next = "Now: checking that the server has recovered at " + s.load(step.Load) + "; "
	case find.Finish:
		return f
	}
	f.Next += s.ends() + "."
	return f
}

// bracket is where the capacity lies.
func (s *session) bracket(c *find.Capacity) string {
	switch iv := c.Interval; {
	case iv.Low > 0 && !iv.Open:
		return fmt.Sprintf("between %s and %s", number(iv.Low), s.load(iv.High))
	case iv.Open && c.Value > 0:
		return "above " + s.load(c.Value)
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
		fmt.Fprintf(s.Stdout, "The search ended early: %s\n", cleantext.Line(f.Reason))
	}
	fmt.Fprintln(s.Stdout)
	report.Fleet(s.Stdout, res.Fleet)
	report.Verdict(s.Stdout, res, s.Style())
}

// words are the answer in sentences.
func (s *session) words(a *result.FindAnswer) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch outcome := find.Outcome(a.Outcome); {
	case a.Capacity != nil:
		add("Capacity: %s", s.sentence(a))
		if !a.Bracket.Open {
			add("  with %g %% confidence between %s and %s", 100*a.Bracket.Level, number(a.Bracket.Low), s.load(a.Bracket.High))
		} else if a.Bracket.Low > 0 {
			add("  with %g %% confidence at least %s", 100*a.Bracket.Level, s.load(a.Bracket.Low))
		}
		if outcome == find.AllHold {
			add("  this is the highest load; nearest to its limit is %s; raise --highest to search above", a.Binding)
		}
		if outcome == find.ClientLimit {
			add("  above it the client is the limit: %s", clientAdvice)
		}
	case outcome == find.NoneHolds:
		add("No capacity: %s does not hold even at the lowest load", a.Binding)
		add("  allow more in --slo, or lower --lowest")
	case outcome == find.ClientLimit:
		add("No answer: the client reached its limit before the server did, at %s", s.load(a.ClientAt))
		add("  %s", clientAdvice)
	case a.FailsAt > 0:
		add("No load held so far: the capacity is below %s", s.load(a.FailsAt))
	default:
		add("No load has ended so far, so nothing is known")
	}
	if a.Knee > 0 && a.Capacity != nil {
		add("  knee of the curve: %s; above it, latency grows faster than the load", s.load(a.Knee))
	}
	return out
}

// sentence says which load held, how that is known, and what fails above it.
func (s *session) sentence(a *result.FindAnswer) string {
	text := s.load(a.Capacity.Value)
	if !a.Confirmed || a.Outcome != string(find.Found) {
		text = "at least " + text
	}
	text += fmt.Sprintf(" (held in %s, %s", unit.Span(a.Held.Seconds*1e9), unit.Count(a.Held.Requests, "request"))
	if a.Unsure != "" {
		text += "; not sure: " + a.Unsure
	}
	text += ")"
	switch {
	case a.Outcome == string(find.ClientLimit):
		text += fmt.Sprintf("; the client was the limit at %s", number(a.ClientAt))
	case a.FailsAt > 0:
		text += fmt.Sprintf("; fails at %s: %s", number(a.FailsAt), failure(a.Binding))
	}
	return text
}

// failure says in words what failed at a load.
func failure(binding string) string {
	switch binding {
	case find.BacklogGrew:
		return "the backlog grew"
	case find.WentDown:
		return "the server went down"
	}
	return binding
}

// interval is where the capacity lies.
func interval(iv *result.Interval) string {
	if iv.Open {
		return "at least " + number(iv.Low)
	}
	return fmt.Sprintf("between %s and %s", number(iv.Low), number(iv.High))
}

// tierTable prints one row for each tier.
func (s *session) tierTable(tiers []result.FindAnswer) {
	w := tabwriter.NewWriter(s.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "tier\tcapacity\tinterval\tfails above it\tobjectives")
	for i := range tiers {
		t := &tiers[i]
		value, iv, fails := t.Outcome, "", ""
		if t.Capacity != nil {
			value, iv = s.load(t.Capacity.Value), interval(&t.Bracket)
		}
		if t.FailsAt > 0 {
			fails = fmt.Sprintf("at %s: %s", number(t.FailsAt), failure(t.Binding))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Tier, value, iv, fails, strings.Join(t.Objectives, " "))
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
