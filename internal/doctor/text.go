package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/option"
)

// width is the largest number of columns of a line.
const width = 118

// Text writes the checks as a table, each fix below its finding.
func Text(w io.Writer, list []Check) {
	names := 0
	count := map[State]int{}
	for _, c := range list {
		names = max(names, len(c.Name))
		count[c.State]++
	}
	at := 2 + len(Unknown) + 2 + names + 2
	for _, c := range list {
		head := fmt.Sprintf("  %-*s  %-*s  ", len(Unknown), c.State, names, c.Name)
		fmt.Fprint(w, head, fold(c.Found, at), "\n")
		if c.Fix != "" {
			fmt.Fprint(w, strings.Repeat(" ", at), "fix: ", fold(c.Fix, at+len("fix: ")), "\n")
		}
	}
	fmt.Fprintln(w)
	switch {
	case count[Bad] > 0:
		fmt.Fprintln(w, "Findings marked bad make measurements on this machine wrong or impossible: fix them first.")
	case count[Warn] > 0:
		fmt.Fprintln(w, "You can measure on this machine. Findings marked warn make results worse.")
	default:
		fmt.Fprintln(w, "No problems found.")
	}
}

// fold breaks a text into lines between words; lines after the first begin at the column.
func fold(text string, column int) string {
	return strings.Join(option.Fold(text, width-column), "\n"+strings.Repeat(" ", column))
}
