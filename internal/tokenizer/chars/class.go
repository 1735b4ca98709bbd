// Package chars knows single characters and finds them in texts: the classes by which the parts of a tokenizer treat
// characters, and the matchers of the patterns that tokenizer files hold.
package chars

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/unicode/rangetable"
)

// Class is a set of properties of a character: one bit each.
type Class uint32

// The properties. Some Rust crates behind the `tokenizers` package know an old version of Unicode: characters that came
// later do not have the property.
const (
	Upper    Class = 1 << iota // Lu, Lt
	Lower                      // Ll
	Caseless                   // Lm, Lo
	Mark                       // M
	Number                     // N
	Symbol                     // P, S
	Space                      // white space: \s
	Word                       // \w
	Punct                      // what Punctuation and Bert split at: P of Unicode 8, and ASCII symbols
	Accent                     // what StripAccents drops: M of Unicode 9
	BertMark                   // what Bert drops as an accent: Mn of Unicode 8
	Control                    // what Bert drops as a control character: C of Unicode 8, without tab and line ends
	Unicode8                   // assigned in Unicode 8
	Unicode9                   // assigned in Unicode 9
	NFC                        // changed by normalization to this form, or joined to what is before; none newer than Unicode 9
	NFD
	NFKC
	NFKD

	Letter = Upper | Lower | Caseless
)

// Table has the classes of all characters in pages of 256; equal pages are stored once.
type Table struct {
	ASCII [utf8.RuneSelf]Class
	index [(unicode.MaxRune + 1) >> 8]uint16
	pages []Class
}

// Classes returns the table. The first call makes it.
var Classes = sync.OnceValue(newTable)

// Of returns the class of a valid character.
func (t *Table) Of(r rune) Class { return t.pages[int(t.index[r>>8])<<8|int(r&0xFF)] }

// At returns the class and the size of the character at a place of a text.
func (t *Table) At(s string, i int) (Class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return t.ASCII[b], 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return t.Of(r), size
}

// While returns where the run of characters that have one of the properties ends.
func (t *Table) While(s string, i int, some Class) int {
	for i < len(s) {
		c, size := t.At(s, i)
		if c&some == 0 {
			break
		}
		i += size
	}
	return i
}

// Until returns where the next character that has one of the properties is; the end of the text if there is none.
func (t *Table) Until(s string, i int, some Class) int {
	for i < len(s) {
		c, size := t.At(s, i)
		if c&some != 0 {
			break
		}
		i += size
	}
	return i
}

func newTable() *Table {
	flat := make([]Class, unicode.MaxRune+1)
	for _, row := range []struct {
		class  Class
		tables []*unicode.RangeTable
	}{
		{Upper, []*unicode.RangeTable{unicode.Lu, unicode.Lt}},
		{Lower, []*unicode.RangeTable{unicode.Ll}},
		{Caseless, []*unicode.RangeTable{unicode.Lm, unicode.Lo}},
		{Mark | Accent, []*unicode.RangeTable{unicode.M}},
		{BertMark, []*unicode.RangeTable{unicode.Mn}},
		{Number, []*unicode.RangeTable{unicode.N}},
		{Symbol, []*unicode.RangeTable{unicode.P, unicode.S}},
		{Space, []*unicode.RangeTable{unicode.White_Space}},
		{Word, []*unicode.RangeTable{unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control}},
		{Punct, []*unicode.RangeTable{unicode.P}},
		{Control, []*unicode.RangeTable{unicode.C}},
		{Unicode8, []*unicode.RangeTable{rangetable.Assigned("8.0.0")}},
		{Unicode9, []*unicode.RangeTable{rangetable.Assigned("9.0.0")}},
	} {
		for _, table := range row.tables {
			rangetable.Visit(table, func(r rune) { flat[r] |= row.class })
		}
	}
	for r, c := range flat {
		if c&Unicode8 == 0 {
			flat[r] &^= Punct | BertMark | Control
		}
		if c&Unicode9 == 0 {
			flat[r] &^= Accent
		}
	}
	rangetable.Visit(rangetable.Assigned("9.0.0"), func(r rune) { flat[r] |= changes(r) })
	// What differs from the above, mostly because a category changed after Unicode 8.
	for _, row := range []struct {
		class Class
		more  string
		less  string
	}{
		{Punct, "$+<=>^`|~\u166D\U000111C9", ""},
		{Accent, "\u1CF2\u1CF3", "\U000111C9"},
		{BertMark, "\u1734\U0001171E", "\u1885\u1886\uA9BD\U000111C9"},
		{Control, "\uFFFD", "\t\n\r"},
	} {
		for _, r := range row.more {
			flat[r] |= row.class
		}
		for _, r := range row.less {
			flat[r] &^= row.class
		}
	}
	return pack(flat)
}

// changes returns the normalization forms that change a character or join it to what is before.
func changes(r rune) Class {
	if r < utf8.RuneSelf || r >= 0x3400 && r < 0xA000 || r >= 0xE000 && r < 0xF900 || r >= 0x20000 && r < 0x2F800 || r >= 0xE0000 {
		return 0 // most characters, and none with a property
	}
	if r >= 0xAC00 && r <= 0xD7A3 { // Hangul syllables have no properties of their own
		return NFD | NFKD
	}
	s := string(r)
	if p := norm.NFKD.PropertiesString(s); p.BoundaryBefore() && p.Decomposition() == nil {
		return 0
	}
	var c Class
	for i, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
		if !form.PropertiesString(s).BoundaryBefore() || form.QuickSpanString(s) < len(s) {
			c |= NFC << i
		}
	}
	return c
}

// pack stores the classes in pages.
func pack(flat []Class) *Table {
	t := &Table{ASCII: [utf8.RuneSelf]Class(flat)}
	seen := map[[256]Class]uint16{}
	for i := range t.index {
		page := [256]Class(flat[i<<8:])
		at, ok := seen[page]
		if !ok {
			at = uint16(len(seen))
			seen[page] = at
			t.pages = append(t.pages, page[:]...)
		}
		t.index[i] = at
	}
	return t
}
