package compare

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/report/markdown"
)

// WriteText writes the comparison for a terminal.
func (rep *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A  %s\nB  %s\n\n", side(rep.A), side(rep.B))
	t := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	level := ""
	for _, r := range rep.Rows {
		if r.Level != level {
			if level != "" {
				fmt.Fprintln(t, "\t\t\t\t\t")
			}
			level = r.Level
			fmt.Fprintf(t, "%s\tA\tB\tchange\tinterval\t\n", cleantext.Line(level))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t  %s\n", label(r), amount(r.A), amount(r.B), r.change(), r.span(), r.Finding)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteByte('\n')
	for _, remark := range rep.Remarks {
		fmt.Fprintf(&b, "note: %s\n", cleantext.Line(remark))
	}
	fmt.Fprintf(&b, "B is %s\n", rep.conclusion())
	_, err := io.WriteString(w, b.String())
	return err
}

// conclusion completes "B is".
func (rep *Report) conclusion() string {
	switch rep.Finding {
	case Better, Worse:
		return string(rep.Finding) + " than A: " + rep.strongest()
	case Unknown:
		return "not comparable with A: " + Unseen(rep.least)
	case Same, Shown:
	}
	return "no different from A, as far as can be seen"
}

// strongest returns the row of the finding with the largest certain change.
func (rep *Report) strongest() string {
	best := -1
	for i := range rep.Rows {
		if rep.Rows[i].Finding == rep.Finding && (best < 0 || rep.Rows[i].smallestChange() > rep.Rows[best].smallestChange()) {
			best = i
		}
	}
	r := rep.Rows[best]
	return fmt.Sprintf("%s at %s, %s", r.Name, r.Level, r.change())
}

// smallestChange is the smallest change within the interval.
func (r *Row) smallestChange() float64 { return min(math.Abs(r.Low), math.Abs(r.High)) }

// WriteMarkdown writes the comparison as a table for CI pages.
func (rep *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**B is %s**\n\n", markdown.Cell(rep.conclusion()))
	fmt.Fprintf(&b, "A: %s  \nB: %s\n\n", markdown.Cell(side(rep.A)), markdown.Cell(side(rep.B)))
	fmt.Fprintf(&b, "| level | | A | B | change | interval | |\n|---|---|--:|--:|--:|--:|---|\n")
	for _, r := range rep.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", markdown.Cell(r.Level), markdown.Cell(label(r)), amount(r.A), amount(r.B), r.change(), r.span(), mark(r.Finding))
	}
	for _, remark := range rep.Remarks {
		fmt.Fprintf(&b, "\n%s  ", markdown.Cell(remark))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(f Finding) string {
	switch f {
	case Better:
		return "🟢 better"
	case Worse:
		return "🔴 worse"
	case Same, Unknown, Shown:
	}
	return string(f)
}

func side(sides []Side) string {
	names := make([]string, len(sides))
	for i, s := range sides {
		names[i] = cleantext.Line(s.Name)
	}
	return strings.Join(names, ", ")
}

func label(r Row) string {
	if r.Unit == "" {
		return r.Name
	}
	return r.Name + " (" + r.Unit + ")"
}

// String is the row in a sentence: "p99 went from 4.1 to 5.2 ms, +26.8 % (+20.1 % to +33.9 %)".
func (r Row) String() string {
	text := fmt.Sprintf("%s went from %s to %s %s, %s", r.Name, amount(r.A), amount(r.B), r.Unit, r.change())
	if span := r.span(); span != "" {
		text += " (" + span + ")"
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
		return ""
	}
	return signed(r.Low) + " to " + signed(r.High)
}

// signed is a share in percent with its sign.
func signed(v float64) string {
	if math.Abs(v) < 0.00005 {
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
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case math.Abs(v) < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
