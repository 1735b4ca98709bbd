// Package columns writes tables of text that fit the width of a terminal.
//
// A table is rows of cells; the first row is the heading, and all rows have as many cells. Cells may contain ANSI colors, which take
// no room. A table that is too wide either omits its less important columns (Fit) or continues them in further tables (Split).
package columns

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/convert"
)

// Unknown stands in the place of a value that is not known, such as a percentile with too few samples.
const Unknown = "–"

// indent and gap are the spaces before a row and between two cells.
const indent, gap = 2, 2

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Width is how many columns of a terminal a text takes.
func Width(text string) int { return utf8.RuneCountInString(escapes.ReplaceAllString(text, "")) }

// Text writes a table: the first columns, left in number, are aligned to the left, the others to the right.
func Text(rows [][]string, left int) string { return text(rows, left, strings.Repeat(" ", indent)) }

// Flush is Text without spaces before the rows.
func Flush(rows [][]string, left int) string { return text(rows, left, "") }

func text(rows [][]string, left int, before string) string {
	var b strings.Builder
	width := widths(rows)
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(before)
		for i, cell := range row {
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			pad := strings.Repeat(" ", width[i]-Width(cell))
			if i < left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// Fit omits columns until the table fits width: those of the headings spare, in this order, and first those of them without any
// known value.
func Fit(rows [][]string, spare []string, width int) [][]string {
	isEmpty := func(head string) bool {
		at := slices.Index(rows[0], head)
		return at >= 0 && !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[at] != Unknown && row[at] != "" })
	}
	var empty, known []string
	for _, head := range spare {
		if isEmpty(head) {
			empty = append(empty, head)
		} else {
			known = append(known, head)
		}
	}
	for _, head := range append(empty, known...) {
		if total(widths(rows)) <= width {
			break
		}
		if at := slices.Index(rows[0], head); at >= 0 {
			rows = convert.All(rows, func(row []string) []string { return slices.Delete(slices.Clone(row), at, at+1) })
		}
	}
	return rows
}

// Split returns the table as tables that fit width. Each has the first columns, keep in number, and at least one of the others.
func Split(rows [][]string, keep, width int) [][][]string {
	sizes := widths(rows)
	var out [][][]string
	for from := keep; from < len(sizes); {
		to := from + 1
		for to < len(sizes) && total(sizes[:keep])+total(sizes[from:to+1])-indent+gap <= width {
			to++
		}
		out = append(out, convert.All(rows, func(row []string) []string { return slices.Concat(row[:keep], row[from:to]) }))
		from = to
	}
	return out
}

// Fits reports whether a table fits width.
func Fits(rows [][]string, width int) bool { return total(widths(rows)) <= width }

// total is how many columns of a terminal a row takes.
func total(widths []int) int {
	sum := indent - gap
	for _, w := range widths {
		sum += w + gap
	}
	return sum
}

func widths(rows [][]string) []int {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], Width(cell))
		}
	}
	return width
}
