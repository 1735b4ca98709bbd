package option

import (
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
)

// nearMost is the largest number of names that a message offers.
const nearMost = 3

// Near returns the names that a user who wrote text may have meant, at most nearMost, the nearest first: those that differ by
// a few letters, or else those that contain text as whole words, as request-rate-range contains rate.
func Near(text string, names []string) []string {
	text = strings.ToLower(strings.ReplaceAll(text, "_", "-"))
	if len(text) < 2 {
		return nil
	}
	best := min(3, 1+(len(text)-1)/4) + 1
	var list []string
	for _, name := range names {
		switch d := distance(text, name); {
		case d < best:
			best, list = d, []string{name}
		case d == best && list != nil:
			list = append(list, name)
		}
	}
	if list == nil {
		words := "-" + text + "-"
		list = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains("-"+name+"-", words) })
	}
	if len(list) == 0 {
		return nil
	}
	return list[:min(len(list), nearMost)]
}

// didYouMean continues the message about an unknown name.
func didYouMean(prefix string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + listed(prefix, names) + "?"
}

// listed joins names: "--a, --b or --c". Of many names it lists the first.
func listed(prefix string, names []string) string {
	const most = 6
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	list := convert.All(names, func(name string) string { return prefix + name })
	if more != "" || len(list) == 1 {
		return strings.Join(list, ", ") + more
	}
	return alternatives(list)
}

// distance is the number of letters to insert, delete, replace or swap with their neighbor to turn a into b.
func distance(a, b string) int {
	// rows[i][j] is the distance of a[:i] and b[:j].
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
