package record

import "encoding/binary"

// Unpacker reads numbers of variable length, and bytes, from the front of Rest. After a fault it is Broken and yields zeros.
type Unpacker struct {
	Rest   []byte
	Broken bool // there was less than a value
}

// Fail ends the reading: what is left is no value.
func (u *Unpacker) Fail() { u.Rest, u.Broken = nil, true }

// Take is the next n bytes. They refer to Rest.
func (u *Unpacker) Take(n uint64) []byte {
	if n > uint64(len(u.Rest)) {
		u.Fail()
		return nil
	}
	b := u.Rest[:n:n]
	u.Rest = u.Rest[n:]
	return b
}

// Octet is the next byte.
func (u *Unpacker) Octet() byte {
	if len(u.Rest) == 0 {
		u.Fail()
		return 0
	}
	v := u.Rest[0]
	u.Rest = u.Rest[1:]
	return v
}

// Signed is the next number that may be negative.
func (u *Unpacker) Signed() int64 {
	v, size := binary.Varint(u.Rest)
	u.skip(size)
	return v
}

// Unsigned is the next number that cannot be negative.
func (u *Unpacker) Unsigned() uint64 {
	v, size := binary.Uvarint(u.Rest)
	u.skip(size)
	return v
}

// skip goes on after a number of so many bytes.
func (u *Unpacker) skip(size int) {
	if size <= 0 {
		u.Fail()
		return
	}
	u.Rest = u.Rest[size:]
}
