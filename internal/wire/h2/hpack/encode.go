// Package hpack packs and unpacks the header fields of HTTP/2 (RFC 7541) for a client that sends the same
// fields over and over.
//
// The encoder stores every field that fits into the table that the peer keeps for us, and never makes it
// forget one: a field that would push another out is sent in full instead. So after the first request each
// stored field costs one byte, and a block of stored fields stays the same bytes for as long as Generation
// does. The decoder unpacks into slices that it reuses, and counts the changes of its table, so that its
// caller can recognize a block it has seen before.
package hpack

// Field is one header field to send. The name must be in lower case.
type Field struct {
	Name, Value string
	// Once: the value is another one in the next block, so the table does not keep it.
	Once bool
}

// Encoder packs the header blocks of one direction of a connection.
type Encoder struct {
	table []Field // oldest first
	size  int
	max   int
	gen   uint64
	// resize asks for a table size update at the start of the next block.
	resize bool
}

// NewEncoder makes an encoder with an empty table of the default size.
func NewEncoder() *Encoder { return &Encoder{max: DefaultTableSize} }

// Generation changes when the bytes of an earlier block may no longer mean the same.
func (e *Encoder) Generation() uint64 { return e.gen }

// Limit sets the largest table that the peer will keep for us. More than the default is not used.
func (e *Encoder) Limit(n uint32) {
	size := int(min(n, DefaultTableSize))
	if size == e.max {
		return
	}
	e.resize, e.max = true, size
	// Starting over is simpler than following which entries the peer drops, and most connections change the
	// size at most once.
	e.table, e.size = e.table[:0], 0
	e.gen++
}

// Append adds the block of the fields to dst.
func (e *Encoder) Append(dst []byte, fields []Field) []byte {
	if e.resize {
		dst = appendInt(dst, 0x20, 5, 0) // empties the peer's table
		dst = appendInt(dst, 0x20, 5, uint64(e.max))
		e.resize = false
		e.gen++
	}
	for _, f := range fields {
		dst = e.field(dst, f)
	}
	return dst
}

// varying is the one field that differs from request to request: it is never stored.
const varying = "content-length"

func (e *Encoder) field(dst []byte, f Field) []byte {
	whole, name := e.find(f)
	if whole > 0 {
		return appendInt(dst, 0x80, 7, uint64(whole))
	}
	cost := len(f.Name) + len(f.Value) + entryCost
	if e.size+cost <= e.max && f.Name != varying && !f.Once {
		dst = appendInt(dst, 0x40, 6, uint64(name))
		e.table = append(e.table, f)
		e.size += cost
		e.gen++
	} else {
		dst = appendInt(dst, 0x00, 4, uint64(name))
	}
	if name == 0 {
		dst = appendString(dst, f.Name)
	}
	return appendString(dst, f.Value)
}

// find returns the index of the whole field, or else of its name; 0 is none.
func (e *Encoder) find(f Field) (whole, name int) {
	for i := 1; i < len(static); i++ {
		if string(static[i].name) != f.Name {
			continue
		}
		if string(static[i].value) == f.Value {
			return i, i
		}
		if name == 0 {
			name = i
		}
	}
	for i, t := range e.table {
		if t.Name != f.Name {
			continue
		}
		index := firstDynamic + len(e.table) - 1 - i
		if t.Value == f.Value {
			return index, index
		}
		if name == 0 {
			name = index
		}
	}
	return 0, name
}

func appendInt(dst []byte, first byte, bits uint, n uint64) []byte {
	full := uint64(1)<<bits - 1
	if n < full {
		return append(dst, first|byte(n))
	}
	dst = append(dst, first|byte(full))
	for n -= full; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

func appendString(dst []byte, s string) []byte {
	dst = appendInt(dst, 0, 7, uint64(len(s)))
	return append(dst, s...)
}

// AppendLiteral appends one field that is neither packed nor indexed, so that it needs no encoder and changes none.
func AppendLiteral(dst []byte, name string, value []byte) []byte {
	dst = append(dst, 0)
	dst = append(appendInt(dst, 0, 7, uint64(len(name))), name...)
	return append(appendInt(dst, 0, 7, uint64(len(value))), value...)
}
