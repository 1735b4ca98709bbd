package hpack

import (
	"errors"
	"math"

	xhpack "golang.org/x/net/http2/hpack"
)

// The ways in which a header block can be wrong. Each is a compression error of the whole connection.
var (
	ErrTruncated = errors.New("header block ends inside a field")
	ErrIndex     = errors.New("header block refers to an index outside of the tables")
	ErrInteger   = errors.New("header block holds an integer that is too large")
	ErrHuffman   = errors.New("header block holds an invalid Huffman string")
	ErrResize    = errors.New("header block resizes the table wrongly")
)

// Decoder reads the header blocks of one direction of a connection, in their order. Reset starts a block and
// Next yields its fields; a block must be read to its end, for later ones may refer to what it stored.
type Decoder struct {
	table []entry // oldest first
	size  int
	max   int // the size in force, chosen by the peer
	limit int // the size that we announced
	gen   uint64

	block   []byte
	pos     int
	started bool // a field of this block was seen: resizing is over
	// names and values are where Huffman strings of the current field are unpacked.
	names, values sink
}

// DefaultTableSize is the table size that both sides begin with.
const DefaultTableSize = 4096

// NewDecoder makes a decoder with an empty table of the default size.
func NewDecoder() *Decoder {
	return &Decoder{max: DefaultTableSize, limit: DefaultTableSize}
}

// Generation changes with every change of the table: two equal blocks decode to equal fields, and change
// nothing, where the first one left the generation as it was and it is still the same.
func (d *Decoder) Generation() uint64 { return d.gen }

// Reset begins a new block. The block must not change until its last field was read.
func (d *Decoder) Reset(block []byte) {
	d.block, d.pos, d.started = block, 0, false
}

// Next returns the next field. ok is false at the end of the block. The bytes are valid until the next call.
func (d *Decoder) Next() (name, value []byte, ok bool, err error) {
	for d.pos < len(d.block) {
		b := d.block[d.pos]
		switch {
		case b&0x80 != 0: // indexed field
			d.started = true
			e, err := d.indexed(7)
			return e.name, e.value, err == nil, err
		case b&0xc0 == 0x40: // literal that is stored
			d.started = true
			e, err := d.literal(6)
			if err != nil {
				return nil, nil, false, err
			}
			e = d.insert(e)
			return e.name, e.value, true, nil
		case b&0xe0 == 0x20: // table size update
			if err := d.resize(); err != nil {
				return nil, nil, false, err
			}
		default: // literal that is not stored
			d.started = true
			e, err := d.literal(4)
			return e.name, e.value, err == nil, err
		}
	}
	return nil, nil, false, nil
}

func (d *Decoder) resize() error {
	n, err := d.integer(5)
	if err != nil {
		return err
	}
	if d.started || n > uint64(d.limit) {
		return ErrResize
	}
	d.max = int(n)
	d.gen++
	d.evict(0)
	return nil
}

func (d *Decoder) indexed(bits uint) (entry, error) {
	n, err := d.integer(bits)
	if err != nil {
		return entry{}, err
	}
	return d.at(n)
}

func (d *Decoder) at(n uint64) (entry, error) {
	switch {
	case n == 0:
		return entry{}, ErrIndex
	case n < firstDynamic:
		return static[n], nil
	case n-firstDynamic < uint64(len(d.table)):
		return d.table[len(d.table)-1-int(n-firstDynamic)], nil
	}
	return entry{}, ErrIndex
}

func (d *Decoder) literal(bits uint) (e entry, err error) {
	n, err := d.integer(bits)
	if err != nil {
		return entry{}, err
	}
	if n > 0 {
		if e, err = d.at(n); err != nil {
			return entry{}, err
		}
	} else if e.name, err = d.str(&d.names); err != nil {
		return entry{}, err
	}
	e.value, err = d.str(&d.values)
	return e, err
}

func (d *Decoder) str(out *sink) ([]byte, error) {
	if d.pos >= len(d.block) {
		return nil, ErrTruncated
	}
	packed := d.block[d.pos]&0x80 != 0
	n, err := d.integer(7)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(d.block)-d.pos) {
		return nil, ErrTruncated
	}
	raw := d.block[d.pos : d.pos+int(n)]
	d.pos += int(n)
	if !packed {
		return raw, nil
	}
	out.b = out.b[:0]
	if _, err := xhpack.HuffmanDecode(out, raw); err != nil {
		return nil, ErrHuffman
	}
	return out.b, nil
}

// integer reads a number whose first byte lends it the given number of low bits (RFC 7541 section 5.1).
func (d *Decoder) integer(bits uint) (uint64, error) {
	full := uint64(1)<<bits - 1
	n := uint64(d.block[d.pos]) & full
	d.pos++
	if n < full {
		return n, nil
	}
	for shift := uint(0); d.pos < len(d.block); shift += 7 {
		b := d.block[d.pos]
		d.pos++
		n += uint64(b&0x7f) << shift
		if n > math.MaxUint32 || shift > 28 {
			return 0, ErrInteger
		}
		if b&0x80 == 0 {
			return n, nil
		}
	}
	return 0, ErrTruncated
}

// insert stores a copy of e as the newest entry, and drops the oldest ones until it fits. An entry larger
// than the whole table empties it and is not stored.
func (d *Decoder) insert(e entry) entry {
	both := make([]byte, 0, len(e.name)+len(e.value))
	both = append(append(both, e.name...), e.value...)
	e = entry{name: both[:len(e.name):len(e.name)], value: both[len(e.name):]}
	d.gen++
	d.evict(e.size())
	if e.size() <= d.max {
		d.table = append(d.table, e)
		d.size += e.size()
	}
	return e
}

// evict makes room for n more bytes.
func (d *Decoder) evict(n int) {
	drop := 0
	for drop < len(d.table) && d.size+n > d.max {
		d.size -= d.table[drop].size()
		drop++
	}
	d.table = append(d.table[:0], d.table[drop:]...)
}

// sink collects what the Huffman decoder writes.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}
