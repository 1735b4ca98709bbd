package parquet

import (
	"encoding/binary"
	"math"
	"strings"
)

// column is what the writer needs of any column.
type column interface {
	label() string
	kind() kind
	len() int
	// pages encodes what was added, and forgets it. The bytes hold until the next value is added.
	pages() pages
}

// pages are the parts of a chunk.
type pages struct {
	dictionary []byte
	entries    int // of the dictionary; 0: there is none
	data       []byte
	encoding   encoding
}

// kind is a type as the footer names it: how it is stored, and what it means, in the old way and the new one.
type kind struct {
	physical, converted int
	logical             []byte
}

// The numbers of the types in the format.
const (
	boolean   = 0
	int32Type = 1
	int64Type = 2
	double    = 5
	byteArray = 6

	noMeaning  = -1
	utf8Text   = 0
	unsigned32 = 13
	unsigned64 = 14
	signed32   = 17
	signed64   = 18
)

type title struct{ name string }

func (t title) label() string { return t.name }

// Ints is a column of whole numbers.
type Ints struct {
	title
	bits   int
	signed bool
	delta  delta
	buf    []byte
}

// Add adds a value: for a column without sign, the bits of one.
func (c *Ints) Add(v int64) { c.delta.add(v, c.bits) }

func (c *Ints) len() int { return c.delta.total }

func (c *Ints) kind() kind {
	k := kind{physical: int64Type, converted: signed64}
	switch {
	case c.bits == 32 && c.signed:
		k = kind{physical: int32Type, converted: signed32}
	case c.bits == 32:
		k = kind{physical: int32Type, converted: unsigned32}
	case !c.signed:
		k.converted = unsigned64
	}
	var meaning, union thrift
	meaning.i8(1, int8(c.bits))
	meaning.boolean(2, c.signed)
	meaning.end()
	union.child(10, meaning.bytes)
	union.end()
	k.logical = union.bytes
	return k
}

func (c *Ints) pages() pages {
	c.buf = c.delta.encode(c.buf[:0], c.bits)
	return pages{data: c.buf, encoding: deltaPacked}
}

// Bools is a column of yes and no, a bit each.
type Bools struct {
	title
	data []byte
	n    int
	full bool // the values were encoded: the next one begins anew
}

// Add adds a value.
func (c *Bools) Add(v bool) {
	if c.full {
		c.data, c.n, c.full = c.data[:0], 0, false
	}
	if c.n%8 == 0 {
		c.data = append(c.data, 0)
	}
	if v {
		c.data[c.n/8] |= 1 << (c.n % 8)
	}
	c.n++
}

func (c *Bools) len() int {
	if c.full {
		return 0
	}
	return c.n
}

func (c *Bools) kind() kind { return kind{physical: boolean, converted: noMeaning} }

func (c *Bools) pages() pages {
	c.full = true
	return pages{data: c.data, encoding: plain}
}

// Texts is a column of texts.
type Texts struct {
	title
	dict dict[string]
}

// Add adds a value. It is copied if it is new to the group.
func (c *Texts) Add(v string) {
	if c.dict.seen(v) {
		return
	}
	c.dict.plain = binary.LittleEndian.AppendUint32(c.dict.plain, uint32(len(v)))
	c.dict.plain = append(c.dict.plain, v...)
	c.dict.put(strings.Clone(v))
}

func (c *Texts) len() int { return len(c.dict.index) }

func (c *Texts) kind() kind {
	var union thrift
	union.child(1, []byte{0})
	union.end()
	return kind{byteArray, utf8Text, union.bytes}
}

func (c *Texts) pages() pages { return c.dict.pages() }

// Floats is a column of fractions.
type Floats struct {
	title
	dict dict[uint64]
}

// Add adds a value.
func (c *Floats) Add(v float64) {
	bits := math.Float64bits(v)
	if c.dict.seen(bits) {
		return
	}
	c.dict.plain = binary.LittleEndian.AppendUint64(c.dict.plain, bits)
	c.dict.put(bits)
}

func (c *Floats) len() int     { return len(c.dict.index) }
func (c *Floats) kind() kind   { return kind{physical: double, converted: noMeaning} }
func (c *Floats) pages() pages { return c.dict.pages() }

// dict is a list of the distinct values of a group, and for each row the place of its value.
type dict[T comparable] struct {
	places           map[T]uint32
	last             T // most columns hardly change
	at               uint32
	index            []uint32
	plain            []byte
	dictionary, data []byte // of the last group
}

// seen adds a value that the list has.
func (d *dict[T]) seen(v T) bool {
	if len(d.index) > 0 && v == d.last {
		d.index = append(d.index, d.at)
		return true
	}
	at, ok := d.places[v]
	if ok {
		d.last, d.at = v, at
		d.index = append(d.index, at)
	}
	return ok
}

// put adds a value that is new.
func (d *dict[T]) put(v T) {
	d.last, d.at = v, uint32(len(d.places))
	d.places[v] = d.at
	d.index = append(d.index, d.at)
}

func (d *dict[T]) pages() pages {
	n := len(d.places)
	d.data = appendIndices(d.data[:0], d.index, n)
	d.dictionary, d.plain = d.plain, d.dictionary[:0]
	clear(d.places)
	d.index = d.index[:0]
	var zero T
	d.last = zero
	return pages{d.dictionary, n, d.data, indexDictionary}
}
