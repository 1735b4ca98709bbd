package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// Reason is why a run has its verdict. What has one line for levels that differ in their numbers: one remedy, Try, is for
// all of them.
type Reason struct {
	What []string `json:"what"`
	Try  string   `json:"try,omitempty"`
}

// Reasons are those of a verdict as people read them: levels with the same reason stand on one line, and reasons that differ
// only in numbers have one remedy. The texts may contain text of the server; they are cleaned.
func Reasons(r *result.Result) []Reason {
	var names []string
	for i := range r.Levels {
		names = append(names, measure.LevelName(&r.Levels[i]))
	}
	for i := range r.Classes {
		names = append(names, r.Classes[i].Name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // "concurrency 12" before "concurrency 1"
	var groups []*group
	for _, why := range r.Verdict.Reasons {
		name, text := split(why.What, names)
		g := find(groups, text, why.Try)
		if g == nil {
			g = &group{like: pattern(text)}
			groups = append(groups, g)
		}
		g.add(name, text)
		g.try = cmp.Or(g.try, why.Try)
	}
	out := make([]Reason, len(groups))
	for i, g := range groups {
		out[i].Try = cleantext.Line(g.try)
		for _, l := range g.lines {
			out[i].What = append(out[i].What, cleantext.Cut(l.String(), 1000))
		}
	}
	return out
}

// split separates the level at the beginning of a reason from the rest.
func split(what string, names []string) (name, text string) {
	for _, n := range names {
		if rest, ok := strings.CutPrefix(what, n+": "); ok {
			return n, rest
		}
	}
	return "", what
}

// group is reasons whose texts differ only in numbers.
type group struct {
	like  string
	lines []line
	try   string
}

// line is one text and the levels that have it.
type line struct {
	names []string
	text  string
}

// find returns the group of a text, unless that has another remedy.
func find(groups []*group, text, try string) *group {
	like := pattern(text)
	for _, g := range groups {
		if g.like == like && (try == "" || g.try == "" || g.try == try) {
			return g
		}
	}
	return nil
}

func (g *group) add(name, text string) {
	i := slices.IndexFunc(g.lines, func(l line) bool { return l.text == text && name != "" })
	if i < 0 {
		g.lines = append(g.lines, line{text: text})
		i = len(g.lines) - 1
	}
	if name != "" {
		g.lines[i].names = append(g.lines[i].names, name)
	}
}

// String names the levels before the text: "concurrency 4, 5, 6: text".
func (l line) String() string {
	if len(l.names) == 0 {
		return l.text
	}
	names := slices.Clone(l.names)
	if cut := strings.LastIndexByte(names[0], ' ') + 1; cut > 0 {
		kind := names[0][:cut]
		if !slices.ContainsFunc(names, func(n string) bool { return !strings.HasPrefix(n, kind) || strings.Contains(n, ", ") }) {
			for i := range names[1:] {
				names[i+1] = names[i+1][cut:]
			}
		}
	}
	return strings.Join(names, ", ") + ": " + l.text
}

var number = regexp.MustCompile(`[0-9][0-9.]*(e[+-][0-9]+)?`)

// pattern is a text without its numbers and the units of times.
func pattern(text string) string {
	return number.ReplaceAllString(strings.NewReplacer("µs", "s", "ms", "s").Replace(text), "#")
}
