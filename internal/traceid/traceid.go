// Package traceid chooses the requests of a run that are traced, and names their traces.
//
// The choice and the names are a function of the run's key, the slot and the send time, which no two requests share. So the
// connection pool that writes the header and the collector that later makes the span agree without passing anything on, and a request
// that is not traced costs a hash of an integer.
package traceid

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"sync/atomic"
)

// Sampler chooses requests. A nil Sampler chooses none.
type Sampler struct {
	key   uint64
	limit uint64       // hashes up to it are chosen
	until atomic.Int64 // the last send time of requests that carry their names
}

// New makes a sampler of a share of the requests, from 0 to 1; nil for none. The key must differ from run to run.
func New(share float64, key uint64) *Sampler {
	switch {
	case !(share > 0):
		return nil
	case share >= 1:
		return newSampler(key, math.MaxUint64)
	}
	return newSampler(key, uint64(share*math.MaxUint64))
}

func newSampler(key, limit uint64) *Sampler {
	s := &Sampler{key: key, limit: limit}
	s.Until(Always)
	return s
}

// Of returns a sampler of the same share for one of several loads that run beside each other: their slots have the same numbers.
func (s *Sampler) Of(name string) *Sampler {
	if s == nil || name == "" {
		return s
	}
	key := s.key
	for i := range len(name) {
		key = mix(key ^ uint64(name[i]))
	}
	return newSampler(key, s.limit)
}

// ID names a span by W3C's rules: the trace and the span in it. Only the few requests that are traced need the bytes of both.
type ID struct{ hash, key uint64 }

// Trace is the name of the trace.
func (id ID) Trace() (b [16]byte) {
	binary.LittleEndian.PutUint64(b[:8], mix(id.hash+id.key))
	binary.LittleEndian.PutUint64(b[8:], mix(id.hash^0xa5a5a5a5a5a5a5a5))
	return b
}

// Span is the name of the span.
func (id ID) Span() (b [8]byte) {
	binary.LittleEndian.PutUint64(b[:], mix(id.hash+1)|1) // a name of zeros alone is not valid
	return b
}

// Pick reports whether a request is traced, and its name. It runs for every request, and is small enough for the compiler to inline it.
func (s *Sampler) Pick(slot uint32, sent int64) (ID, bool) {
	if s == nil {
		return ID{}, false
	}
	h := mix(s.key ^ (uint64(sent) + uint64(slot)*0x9e3779b97f4a7c15))
	if h > s.limit {
		return ID{}, false
	}
	return ID{h, s.key}, true
}

// Always and Never are times for Until.
const (
	Always = math.MaxInt64
	Never  = -1
)

// Until sets the last send time of requests that carry their names. A request of a warm-up or a cool-down carries none: it has no
// span that the server's spans could be children of.
func (s *Sampler) Until(last int64) {
	if s != nil {
		s.until.Store(last)
	}
}

// Send is Pick for a request that is sent now: it reports whether the request carries its name.
func (s *Sampler) Send(slot uint32, sent int64) (ID, bool) {
	if s == nil || sent > s.until.Load() {
		return ID{}, false
	}
	return s.Pick(slot, sent)
}

// mix is the finalizer of MurmurHash3: it spreads each bit over all.
func mix(v uint64) uint64 {
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	v ^= v >> 33
	v *= 0xc4ceb9fe1a85ec53
	return v ^ v>>33
}

// ParentSize is the length of a traceparent.
const ParentSize = 55

// AppendParent appends the value of the header traceparent, with the flag that the trace is recorded.
func (id ID) AppendParent(b []byte) []byte {
	trace, span := id.Trace(), id.Span()
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, trace[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, span[:])
	return append(b, "-01"...)
}
