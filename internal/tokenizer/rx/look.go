package rx

import (
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// look compiles a condition on what follows or is before.
func (c *compiler) look(n *node, next step) step {
	sub := c.node(n.subs[0], last)
	if n.kind == kLook {
		return func(s string, i, left int) (int, int) {
			e, left := sub(s, i, left)
			if e == exceeded {
				return e, left
			}
			if (e >= 0) == n.neg {
				return none, left
			}
			return next(s, i, left)
		}
	}
	widths := map[int]bool{}
	if !c.widths(n.subs[0], widths) {
		c.err = c.fail("a condition on what is before must have a fixed length")
		return next
	}
	return func(s string, i, left int) (int, int) {
		found := false
		for w := range widths {
			j, ok := back(s, i, w)
			if !ok {
				continue
			}
			var e int
			if e, left = sub(s, j, left); e == exceeded {
				return e, left
			}
			if e == i {
				found = true
				break
			}
		}
		if found == n.neg {
			return none, left
		}
		return next(s, i, left)
	}
}

// back goes some characters to the left.
func back(s string, i, n int) (int, bool) {
	for ; n > 0; n-- {
		if i == 0 {
			return 0, false
		}
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i, true
}

// widths collects the lengths, in characters, of the alternatives of a node.
func (c *compiler) widths(n *node, to map[int]bool) bool {
	if n.kind == kAlt {
		for _, s := range n.subs {
			if !c.widths(s, to) {
				return false
			}
		}
		return true
	}
	w, ok := width(n)
	to[w] = true
	return ok
}

func width(n *node) (int, bool) {
	switch n.kind {
	case kSet:
		return 1, true
	case kSeq, kAtomic:
		sum := 0
		for _, s := range n.subs {
			w, ok := width(s)
			if !ok {
				return 0, false
			}
			sum += w
		}
		return sum, true
	case kRepeat:
		w, ok := width(n.subs[0])
		return w * n.min, ok && n.min == n.max
	case kAlt:
		w, ok := width(n.subs[0])
		for _, s := range n.subs[1:] {
			if v, also := width(s); !also || v != w {
				return 0, false
			}
		}
		return w, ok
	default:
		return 0, true
	}
}

// assert compiles a condition on the place.
func assert(code byte, next step) step {
	table := unitab.Get()
	word := func(s string, i int, before bool) bool {
		if before {
			if i == 0 {
				return false
			}
			r, _ := utf8.DecodeLastRuneInString(s[:i])
			return table.Mask(r)&unitab.Word != 0
		}
		if i == len(s) {
			return false
		}
		r, _ := utf8.DecodeRuneInString(s[i:])
		return table.Mask(r)&unitab.Word != 0
	}
	var holds func(s string, i int) bool
	switch code {
	case '^':
		holds = func(s string, i int) bool { return i == 0 || s[i-1] == '\n' && i < len(s) }
	case '$':
		holds = func(s string, i int) bool { return i == len(s) || s[i] == '\n' }
	case 'A', 'G':
		holds = func(_ string, i int) bool { return i == 0 }
	case 'z':
		holds = func(s string, i int) bool { return i == len(s) }
	case 'Z':
		holds = func(s string, i int) bool { return i == len(s) || i == len(s)-1 && s[i] == '\n' }
	case 'b':
		holds = func(s string, i int) bool { return word(s, i, true) != word(s, i, false) }
	default:
		holds = func(s string, i int) bool { return word(s, i, true) == word(s, i, false) }
	}
	return func(s string, i, left int) (int, int) {
		if !holds(s, i) {
			return none, left
		}
		return next(s, i, left)
	}
}
