package engine

import (
	"strings"
	"unicode"
)

// MostGroups bounds how many groups of failures are kept; other failures are counted under their class alone.
const MostGroups = 64

// OtherFailures is the text of the group of such other failures.
const OtherFailures = "other failures of this class"

// Groups tells the groups of failed requests apart, by class and text; numbers in the text do not count. The zero value has none.
type Groups struct {
	index map[[2]string]int
}

// Of is the number of the group of a failure. A group that is new has the next number; others is true if it stands for all other failures of
// its class.
func (g *Groups) Of(class, text string) (i int, fresh, others bool) {
	key := [2]string{class, mask(text)}
	i, known := g.index[key]
	if others = !known && len(g.index) >= MostGroups; others {
		key[1] = "\x00" // no text has it
		i, known = g.index[key]
	}
	if known {
		return i, false, others
	}
	if g.index == nil {
		g.index = map[[2]string]int{}
	}
	i = len(g.index)
	g.index[key] = i
	return i, true, others
}

// mask makes texts that differ in numbers alone equal: request ids, addresses, counts.
func mask(text string) string {
	var b strings.Builder
	digits := false
	for _, r := range text {
		if unicode.IsDigit(r) {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}
