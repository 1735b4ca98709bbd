// Package unitab says what characters are: their general category, the properties that the parts of a tokenizer ask
// for, how they decompose and compose, and where graphemes and scripts end. The tables are those of the Rust crates
// behind the `tokenizers` package, which differ from Go's: ids stay the same only if the last unassigned code point
// is classed the same way. gen.py writes them.
package unitab

import (
	_ "embed"
	"encoding/binary"
	"sync"
)

//go:embed tables.bin
var packed []byte

// Mask is a set of general categories and properties: one bit each.
type Mask uint64

// The general categories, in the order of the file.
const (
	Lu Mask = 1 << iota
	Ll
	Lt
	Lm
	Lo
	Mn
	Mc
	Me
	Nd
	Nl
	No
	Pc
	Pd
	Ps
	Pe
	Pi
	Pf
	Po
	Sm
	Sc
	Sk
	So
	Zs
	Zl
	Zp
	Cc
	Cf
	Co
	Cn
)

// Properties of single parts of the package.
const (
	Space   Mask = 1 << (iota + 32) // white space: \s
	Word                            // \w in a pattern of a file
	Numeric                         // what Digits splits at
	Punct                           // what Punctuation and Bert split at
	Letter                          // \w in the Whitespace pre-tokenizer
	Accent                          // what StripAccents drops
	Mark                            // what Bert drops as an accent
	Control                         // what Bert drops as control
)

// Groups of categories.
const (
	L = Lu | Ll | Lt | Lm | Lo
	M = Mn | Mc | Me
	N = Nd | Nl | No
	P = Pc | Pd | Ps | Pe | Pi | Pf | Po
	S = Sm | Sc | Sk | So
	Z = Zs | Zl | Zp
	C = Cc | Cf | Co | Cn
)

// Tables is the unpacked file.
type Tables struct {
	// ASCII holds the masks of the first 128 characters.
	ASCII     [128]Mask
	class     paged
	masks     []Mask
	grapheme  paged
	script    paged
	combining paged
	inert     paged // bit f: a character that normalization to form f neither changes nor joins to what is before
	nfd, nfkd map[rune]string
	compose   map[[2]rune]rune
	lower     map[rune]string
}

// Get unpacks the tables, once.
var Get = sync.OnceValue(unpack)

// paged is a table of bytes by character in pages of 256, equal pages stored once.
type paged struct {
	index [0x110000 >> 8]uint16
	data  []uint8
}

func (p *paged) at(r rune) uint8 {
	return p.data[int(p.index[r>>8])<<8|int(r&0xFF)]
}

// Mask is what a character is. r must be a valid character.
func (t *Tables) Mask(r rune) Mask { return t.masks[t.class.at(r)] }

// Lower is the lower case of a character if it differs.
func (t *Tables) Lower(r rune) (string, bool) {
	s, ok := t.lower[r]
	return s, ok
}

// Script numbers the script of a character; 0 is any.
func (t *Tables) Script(r rune) uint8 { return t.script.at(r) }

// reader reads the packed file.
type reader struct{ rest []byte }

func (r *reader) number() int {
	n, size := binary.Uvarint(r.rest)
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) text() string {
	n := r.number()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// runs reads a table of runs; see maps a value of the file to that of the table.
func (r *reader) runs(see func(int) uint8) paged {
	flat := make([]uint8, 0, 0x110000)
	for range r.number() {
		n, v := r.number(), see(r.number())
		for range n {
			flat = append(flat, v)
		}
	}
	return pageUp(flat)
}

// pageUp stores a table in pages.
func pageUp(flat []uint8) paged {
	var p paged
	pages := map[string]uint16{}
	for i := range p.index {
		page := flat[i<<8 : (i+1)<<8]
		at, ok := pages[string(page)]
		if !ok {
			at = uint16(len(pages))
			pages[string(page)] = at
			p.data = append(p.data, page...)
		}
		p.index[i] = at
	}
	return p
}

func (r *reader) mapping() map[rune]string {
	n := r.number()
	m := make(map[rune]string, n)
	at := 0
	for range n {
		at += r.number()
		m[rune(at)] = r.text()
	}
	return m
}

func unpack() *Tables {
	r := &reader{packed}
	t := &Tables{}
	seen := map[int]uint8{}
	t.class = r.runs(func(v int) uint8 {
		at, ok := seen[v]
		if !ok {
			at = uint8(len(seen))
			seen[v] = at
			t.masks = append(t.masks, Mask(1)<<(v&0x1F)|Mask(v>>5)<<32)
		}
		return at
	})
	same := func(v int) uint8 { return uint8(v) }
	t.grapheme = r.runs(same)
	t.script = r.runs(same)
	t.combining = r.runs(same)
	t.nfd = r.mapping()
	t.nfkd = r.mapping()
	n := r.number()
	t.compose = make(map[[2]rune]rune, n)
	for range n {
		a, b := rune(r.number()), rune(r.number())
		t.compose[[2]rune{a, b}] = rune(r.number())
	}
	t.lower = r.mapping()
	t.inert = t.findInert()
	for i := range t.ASCII {
		t.ASCII[i] = t.Mask(rune(i))
	}
	return t
}

// findInert works out which characters pass normalization as they are.
func (t *Tables) findInert() paged {
	const all = 1<<NFC | 1<<NFD | 1<<NFKC | 1<<NFKD
	flat := make([]uint8, 0x110000)
	for r := range flat {
		if t.combining.at(rune(r)) == 0 {
			flat[r] = all
		}
	}
	for r := range t.nfkd {
		flat[r] &^= 1<<NFKC | 1<<NFKD
	}
	for r := range t.nfd {
		flat[r] &^= 1<<NFC | 1<<NFD
	}
	for r := hangulS; r < hangulS+countS; r++ {
		flat[r] &^= 1<<NFD | 1<<NFKD
	}
	for pair, c := range t.compose {
		if t.combining.at(pair[0]) != 0 {
			continue
		}
		flat[c] |= 1 << NFC
		if t.nfkd[c] == t.nfd[c] {
			flat[c] |= 1 << NFKC
		}
	}
	for pair := range t.compose {
		flat[pair[1]] &^= 1<<NFC | 1<<NFKC
	}
	for r := hangulV; r < hangulV+countV; r++ {
		flat[r] &^= 1<<NFC | 1<<NFKC
	}
	for r := hangulT + 1; r < hangulT+countT; r++ {
		flat[r] &^= 1<<NFC | 1<<NFKC
	}
	return pageUp(flat)
}
