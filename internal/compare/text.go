package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/report/markdown"
	"github.com/redline-bench/redline/internal/unit"
)

// WriteText writes the comparison for a terminal. A table wider than width omits the values of A, which follow from those of B and
// the change; 0 means any width.
func (rep *Report) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A  %s\nB  %s\n", side(rep.A), side(rep.B))
	for _, remark := range rep.Remarks {
		fmt.Fprintf(&b, "note: %s\n", cleantext.Cut(remark, 1000))
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	rows := rep.table()
	if width > 0 && len(rows) > 0 {
		rows = columns.Fit(rows, []string{"A"}, width)
	}
	for _, row := range rows {
		last := len(row) - 1
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row[:last], "\t")+"\t  "+row[last], " "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n", cleantext.Cut(rep.Headline, 1000))
	_, err := io.WriteString(w, b.String())
	return err
}

// table is the rows of the text: each level has a heading, and an empty row stands between levels.
func (rep *Report) table() [][]string {
	var out [][]string
	for i, r := range rep.Rows {
		if i == 0 || r.Level != rep.Rows[i-1].Level {
			if i > 0 {
				out = append(out, make([]string, 6))
			}
			out = append(out, []string{cleantext.Line(r.Level), "A", "B", "change", "interval", ""})
		}
		out = append(out, []string{label(r), amount(r.A), amount(r.B), r.change(), r.span(), string(r.Finding)})
	}
	return out
}

// conclusion sums up all rows in a sentence.
func (rep *Report) conclusion() string {
	better, worse := rep.changes(Better), rep.changes(Worse)
	switch {
	case better != "" && worse != "":
		return "B is better and worse than A: better in " + better + "; worse in " + worse
	case better != "":
		return "B is better than A: " + better
	case worse != "":
		return "B is worse than A: " + worse
	case rep.Finding == Unknown:
		return "this comparison cannot tell whether B differs from A: " + rep.Unseen(rep.least)
	case rep.least > 0:
		return fmt.Sprintf("B may differ from A by less than %g %%", rep.least*100)
	}
	return fmt.Sprintf("B is no different from A, as far as a change of %g %% can be seen", 100*max(Resolution, rep.least))
}

// How much of a comparison the headline names.
const (
	headlineLevels  = 3
	headlineChanges = 2 // of a level
)

// changes names the surest changes with a finding, level by level: "p99 +20 %, throughput −12 % at concurrency 2".
func (rep *Report) changes(f Finding) string {
	rows := map[string][]*Row{}
	var levels []string
	for i := range rep.Rows {
		if r := &rep.Rows[i]; r.Finding == f {
			if rows[r.Level] == nil {
				levels = append(levels, r.Level)
			}
			rows[r.Level] = append(rows[r.Level], r)
		}
	}
	var out []string
	for _, level := range levels[:min(len(levels), headlineLevels)] {
		slices.SortStableFunc(rows[level], func(a, b *Row) int { return cmp.Compare(b.sure(), a.sure()) })
		text := strings.Join(convert.All(rows[level][:min(len(rows[level]), headlineChanges)], (*Row).headline), ", ")
		if level != "" { // a capacity has none
			text += " at " + level
		}
		out = append(out, text)
	}
	if more := len(levels) - headlineLevels; more > 0 {
		out = append(out, "and at "+unit.Count(more, "more level"))
	}
	return strings.Join(out, "; ")
}

// headline is the row in a few words: "p99 +20 %".
func (r *Row) headline() string {
	if r.failures != nil {
		return fmt.Sprintf("%s from %s to %s %%", r.Name, amount(r.A), amount(r.B))
	}
	return r.Name + " " + r.change()
}

// sure is the least change that the interval holds. Failures have no interval; they come first.
func (r *Row) sure() float64 {
	if r.failures != nil {
		return math.Inf(1)
	}
	return min(math.Abs(r.Low), math.Abs(r.High))
}

// WriteMarkdown writes the comparison as a table for CI pages.
func (rep *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n", markdown.Cell(rep.Headline))
	fmt.Fprintf(&b, "A: %s  \nB: %s\n\n", markdown.Cell(side(rep.A)), markdown.Cell(side(rep.B)))
	for _, remark := range rep.Remarks {
		fmt.Fprintf(&b, "- %s\n", markdown.Cell(remark))
	}
	if len(rep.Remarks) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "| level | | A | B | change | interval | |\n|---|---|--:|--:|--:|--:|---|\n")
	for _, r := range rep.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", markdown.Cell(r.Level), markdown.Cell(label(r)), amount(r.A), amount(r.B), r.change(), r.span(), mark(r.Finding))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(f Finding) string {
	switch f {
	case Better:
		return "🟢 better"
	case Worse:
		return "🔴 worse"
	case Same, Slight, Unknown, Shown:
	}
	return string(f)
}

func side(sides []Side) string {
	return strings.Join(convert.All(sides, func(s Side) string { return cleantext.Line(s.Name) }), ", ")
}

func label(r Row) string {
	if r.Unit == "" {
		return r.Name
	}
	return r.Name + " (" + r.Unit + ")"
}

// String is the row in words: "p99 went from 4.1 to 5.2 ms, +26.8 % (+20.1 % to +33.9 %)".
func (r Row) String() string {
	text := fmt.Sprintf("%s went from %s to %s %s, %s", r.Name, amount(r.A), amount(r.B), r.Unit, r.change())
	if r.Low != 0 || r.High != 0 {
		text += " (" + r.span() + ")"
	}
	return text
}

func (r Row) change() string {
	if r.A == 0 && r.B == 0 {
		return "0 %"
	}
	if r.A == 0 {
		return "new"
	}
	return signed(r.Change)
}

func (r Row) span() string {
	if r.Low == 0 && r.High == 0 {
		return r.Why
	}
	return signed(r.Low) + " to " + signed(r.High)
}

// signed is a share in percent with its sign.
func signed(v float64) string {
	if math.Abs(v) < 0.0005 {
		return "0 %"
	}
	digits := 1
	if math.Abs(v) >= 1 {
		digits = 0
	}
	return strings.Replace(fmt.Sprintf("%+.*f %%", digits, v*100), "-", "−", 1)
}

// amount formats a number with about four digits.
func amount(v float64) string {
	if math.Abs(v) < 0.001 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return unit.Digits(v, 4)
}
