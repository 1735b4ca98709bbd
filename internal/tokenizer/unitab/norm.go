package unitab

import (
	"unicode/utf8"
)

// Form is a Unicode normalization form.
type Form uint8

// The forms.
const (
	NFC Form = iota
	NFD
	NFKC
	NFKD
)

// Hangul syllables decompose and compose by a formula.
const (
	hangulS, hangulL, hangulV, hangulT = 0xAC00, 0x1100, 0x1161, 0x11A7
	countL, countV, countT             = 19, 21, 28
	countS                             = countL * countV * countT
)

// IsNormal tells that a text is sure to be in normal form; a text that is may still be told not to be.
func (t *Tables) IsNormal(text string, f Form) bool { return t.span(text, 0, f) == len(text) }

// span is where the run of inert characters from a place on ends.
func (t *Tables) span(text string, i int, f Form) int {
	for i < len(text) {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if t.inert.at(r)>>f&1 == 0 {
			break
		}
		i += size
	}
	return i
}

// Normalize appends the normal form of a text. It knows no limit to the marks on a character.
func (t *Tables) Normalize(dst []byte, text string, f Form, seg *Segment) []byte {
	table := t.nfd
	if f == NFKC || f == NFKD {
		table = t.nfkd
	}
	compose := f == NFC || f == NFKC
	for i := 0; i < len(text); {
		// A run of inert characters passes as it is, except for the last, which marks may follow.
		if j := t.span(text, i, f); j > i {
			_, size := utf8.DecodeLastRuneInString(text[i:j])
			if j-size > i {
				dst = seg.flush(dst, t, compose)
				dst = append(dst, text[i:j-size]...)
			}
			i = j - size
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		dst = t.feed(dst, seg, r, table, compose)
	}
	return seg.flush(dst, t, compose)
}

// feed adds the decomposition of a character to the segment, writing out the segment before each new starter.
func (t *Tables) feed(dst []byte, seg *Segment, r rune, table map[rune]string, compose bool) []byte {
	if r >= hangulS && r < hangulS+countS {
		s := r - hangulS
		dst = t.one(dst, seg, hangulL+s/(countV*countT), compose)
		dst = t.one(dst, seg, hangulV+s%(countV*countT)/countT, compose)
		if s%countT != 0 {
			dst = t.one(dst, seg, hangulT+s%countT, compose)
		}
		return dst
	}
	if d, ok := table[r]; ok {
		for _, part := range d {
			dst = t.one(dst, seg, part, compose)
		}
		return dst
	}
	return t.one(dst, seg, r, compose)
}

// one adds a character that does not decompose.
func (t *Tables) one(dst []byte, seg *Segment, r rune, compose bool) []byte {
	ccc := t.combining.at(r)
	if ccc != 0 {
		seg.add(r, ccc)
		return dst
	}
	if compose && len(seg.runes) > 0 && seg.class[0] == 0 {
		// Two starters compose only side by side: nothing may be left between them.
		seg.order()
		seg.compose(t)
		if len(seg.runes) == 1 {
			if c, ok := t.pair(seg.runes[0], r); ok {
				seg.runes[0] = c
				return dst
			}
		}
	}
	dst = seg.flush(dst, t, compose)
	seg.add(r, 0)
	return dst
}

// Segment is a starter, if there is one, and the marks behind it: what normalization has to hold back. The zero value
// is ready; one is for one caller.
type Segment struct {
	runes []rune
	class []uint8
}

func (s *Segment) add(r rune, ccc uint8) {
	s.runes, s.class = append(s.runes, r), append(s.class, ccc)
}

// order sorts runs of marks by their class, keeping equals in place.
func (s *Segment) order() {
	for i := 1; i < len(s.runes); i++ {
		for j := i; j > 0 && s.class[j] != 0 && s.class[j-1] > s.class[j]; j-- {
			s.runes[j], s.runes[j-1] = s.runes[j-1], s.runes[j]
			s.class[j], s.class[j-1] = s.class[j-1], s.class[j]
		}
	}
}

// compose joins marks with the starter, where nothing of the same class stands between.
func (s *Segment) compose(t *Tables) {
	if len(s.runes) < 2 || s.class[0] != 0 {
		return
	}
	n, last := 1, uint8(0)
	for i := 1; i < len(s.runes); i++ {
		r, ccc := s.runes[i], s.class[i]
		if n == 1 || last < ccc {
			if c, ok := t.pair(s.runes[0], r); ok {
				s.runes[0] = c
				continue
			}
		}
		s.runes[n], s.class[n], last = r, ccc, ccc
		n++
	}
	s.runes, s.class = s.runes[:n], s.class[:n]
}

func (s *Segment) flush(dst []byte, t *Tables, compose bool) []byte {
	if len(s.runes) == 0 {
		return dst
	}
	s.order()
	if compose {
		s.compose(t)
	}
	for _, r := range s.runes {
		dst = utf8.AppendRune(dst, r)
	}
	s.runes, s.class = s.runes[:0], s.class[:0]
	return dst
}

// pair composes two characters.
func (t *Tables) pair(a, b rune) (rune, bool) {
	if a >= hangulL && a < hangulL+countL && b >= hangulV && b < hangulV+countV {
		return hangulS + ((a-hangulL)*countV+b-hangulV)*countT, true
	}
	if a >= hangulS && a < hangulS+countS && (a-hangulS)%countT == 0 && b > hangulT && b < hangulT+countT {
		return a + b - hangulT, true
	}
	c, ok := t.compose[[2]rune{a, b}]
	return c, ok
}
