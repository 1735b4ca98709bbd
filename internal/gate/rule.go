// Package gate checks a result against rules such as p99<50ms and against a baseline. It decides and describes; the command
// maps the outcome to an exit code.
package gate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/result"
)

// Rule is one assertion: a bound for a number of every level, or of one level.
type Rule struct {
	Text  string // as the user wrote it
	Name  string // in lower case
	Op    string // <, <=, >, >=, ==, !=
	Bound float64
	Unit  string // unit of the bound as written; empty means the number's own unit
	// At restricts the rule to the level of this concurrency or rate; 0 for all levels.
	At float64
	// Class restricts the rule to a traffic class of a scenario, or to the whole of them; empty for all levels.
	Class string
	// Objective: the rule is an objective of a scenario, not a rule of --assert.
	Objective bool
}

// The operators, longer ones first so that <= is not read as <.
var operators = []string{"<=", ">=", "==", "!=", "<", ">"}

// Parse reads a rule such as 'p99<50ms', 'ttft.p99 <= 0.2s' or 'throughput>900@8'.
func Parse(text string) (Rule, error) {
	r := Rule{Text: text}
	body, at, bound := strings.Cut(text, "@")
	if bound {
		v, err := strconv.ParseFloat(strings.TrimSpace(at), 64)
		if err != nil || v <= 0 {
			return r, fmt.Errorf("the rule %q: %q after @ is not a concurrency or rate", text, strings.TrimSpace(at))
		}
		r.At = v
	}
	var rest string
	if i := strings.IndexAny(body, "<>=!"); i >= 0 {
		r.Name, rest = lower(strings.TrimSpace(body[:i])), body[i:]
	}
	for _, op := range operators {
		if after, ok := strings.CutPrefix(rest, op); ok {
			r.Op, rest = op, strings.TrimSpace(after)
			break
		}
	}
	if r.Name == "" || r.Op == "" {
		return r, fmt.Errorf("the rule %q is not of the form NAME<VALUE, such as p99<50ms or throughput>900", text)
	}
	digits := strings.IndexFunc(rest, func(c rune) bool { return !strings.ContainsRune("0123456789.+-eE_", c) })
	if digits < 0 {
		digits = len(rest)
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(rest[:digits], "_", ""), 64)
	if err != nil {
		return r, fmt.Errorf("the rule %q: %q is not a number with a unit, such as 50ms, 900 or 0.1%%", text, rest)
	}
	r.Bound, r.Unit = v, strings.TrimSpace(rest[digits:])
	if _, ok := units[r.Unit]; !ok {
		return r, fmt.Errorf("the rule %q: unknown unit %q; use ns, us, ms, s, %%, /s or none", text, r.Unit)
	}
	return r, nil
}

// lower writes the name of a number in lower case. The name of a tier behind "capacity." stays as it is.
func lower(name string) string {
	head, tier, ok := strings.Cut(name, ".")
	if ok && strings.EqualFold(head, capacityName) {
		return capacityName + "." + tier
	}
	return strings.ToLower(name)
}

// units are the units that a bound may have, with the factor to the unit of readings: milliseconds for times.
var units = map[string]struct {
	of    string // unit of the reading; empty for any
	times float64
}{
	"": {"", 1}, "ns": {"ms", 1e-6}, "us": {"ms", 1e-3}, "µs": {"ms", 1e-3}, "ms": {"ms", 1}, "s": {"ms", 1e3},
	"%": {"%", 1}, "/s": {"/s", 1}, "tokens": {"tokens", 1}, "requests": {"requests", 1},
}

// errUnknown means that a level has no metric with the rule's name.
var errUnknown = errors.New("this run does not measure it")

// tooFewError means that a level has too few requests for a percentile.
type tooFewError struct {
	name string
	got  result.Reading
}

func (e *tooFewError) Error() string {
	return fmt.Sprintf("%s needs at least %d requests, and the level has %d", e.name, e.got.Needs, e.got.Has)
}

// TooFew tells whether Check failed only because a percentile has too few requests behind it.
func TooFew(err error) bool { return errors.As(err, new(*tooFewError)) }

// Check compares the rule with one level.
func (r *Rule) Check(lv *result.Level) (got result.Reading, ok bool, err error) {
	name := r.Name
	if r.Unit == "%" && name == "goodput" { // in percent it is a number of its own
		name = "good_request_share"
	}
	got, found := lv.Read(name)
	if !found && strings.HasPrefix(r.Name, "good") {
		return got, false, fmt.Errorf("%s: %w; give the bounds with --goodput of 'redline llm'", r.Name, errUnknown)
	}
	if !found {
		return got, false, fmt.Errorf("%s: %w; use p50 to p99.99, avg, max, throughput, error_rate, in_flight, lag.p99, first.p99, server.queue, server.compute or, for language models, ttft.p99, itl.avg and so on", r.Name, errUnknown)
	}
	if err := r.checkUnit(got.Unit); err != nil {
		return got, false, err
	}
	if lv.Client.Requests == 0 && r.Name != "error_rate" && r.Name != "failed" && r.Name != "requests" && len(lv.Metrics) == 0 {
		return got, false, errors.New("the level has no successful request, so the rule cannot be checked")
	}
	if got.Needs > 0 {
		return got, false, &tooFewError{r.Name, got}
	}
	return got, r.Holds(got.Value), nil
}

// checkUnit refuses a bound in another unit than the number's.
func (r *Rule) checkUnit(of string) error {
	u := units[r.Unit].of
	if u == "" || u == of || u == "/s" && strings.HasSuffix(of, "/sec") {
		return nil
	}
	return fmt.Errorf("%s is in %s, so %s cannot be its bound", r.Name, of, r.Text)
}

// Limit is the bound in the unit of readings, in which times are milliseconds.
func (r *Rule) Limit() float64 { return r.Bound * units[r.Unit].times }

// Holds compares a value in the unit of readings with the limit.
func (r *Rule) Holds(value float64) bool {
	limit := r.Limit()
	switch r.Op {
	case "<":
		return value < limit
	case "<=":
		return value <= limit
	case ">":
		return value > limit
	case ">=":
		return value >= limit
	case "==":
		return value == limit
	}
	return value != limit
}

// Sample is what a run can have, to check rules before the run.
type Sample struct {
	// Level has every number that a level of the run can have. Its values say nothing.
	Level *result.Level
	// Values are the concurrencies or rates of the levels; nil where they are not known.
	Values []float64
	// Find has the unit and the tiers of a search; nil for another run.
	Find *result.Find
	// Hint says what the run needs for the number of a rule that it does not have; empty where it does not know. It may be nil.
	Hint func(r *Rule) string
}

// Fits says why the rule cannot hold for a run, whatever it measures.
func (r *Rule) Fits(s *Sample) error {
	if tier, ok := r.aboutCapacity(); ok && s.Find != nil {
		return r.fitsSearch(s.Find, tier)
	}
	if _, _, err := r.Check(s.Level); err != nil && !TooFew(err) {
		if s.Hint != nil && errors.Is(err, errUnknown) {
			if hint := s.Hint(r); hint != "" {
				return fmt.Errorf("%s: %s", r.Name, hint)
			}
		}
		return err
	}
	if r.At != 0 && s.Values != nil && !slices.Contains(s.Values, r.At) {
		return fmt.Errorf("%s: the run has no level %g", r.Text, r.At)
	}
	return nil
}

// applies reports whether the rule is about the level.
func (r *Rule) applies(lv *result.Level) bool {
	if r.Class != "" && r.Class != lv.Class {
		return false
	}
	return r.At == 0 || r.At == float64(lv.Concurrency) || r.At == lv.Rate
}
