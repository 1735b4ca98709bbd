package load

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
)

// ids makes names for requests and conversations that no other run uses: UUIDs of version 4, out of a random start and
// a counter.
type ids struct {
	start [2]uint64
	n     atomic.Uint64
}

func newIDs() *ids {
	var seed [16]byte
	_, _ = rand.Read(seed[:]) // never fails
	return &ids{start: [2]uint64{binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])}}
}

func (i *ids) next() string {
	n := i.n.Add(1)
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], mix(i.start[0]+n))
	binary.BigEndian.PutUint64(b[8:], mix(i.start[1]^n))
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var out [36]byte
	hex.Encode(out[:8], b[:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:], b[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// mix spreads the bits of a number over all of it, each number to another one.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
