package fleet

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"

	"github.com/redline-bench/redline/internal/engine"
)

// mostFlights limits the memory that a list of requests in flight may take. A worker has fewer slots.
const mostFlights = 1 << 20

// packFlights writes a list of requests in flight in about ten bytes each: a worker may have as many as its slots, and a message of
// NATS has at most 1 MiB.
func packFlights(list []engine.Flight) []byte {
	if len(list) == 0 {
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(len(list)))
	slot, sent := 0, int64(0)
	for _, f := range list {
		b = binary.AppendVarint(b, int64(f.Slot-slot))
		b = binary.AppendVarint(b, f.Sent-sent)
		b = binary.AppendVarint(b, f.Sent-f.Due)
		slot, sent = f.Slot, f.Sent
	}
	return s2.Encode(nil, b)
}

// unpackFlights reads what packFlights wrote. Times are those of the worker's clock.
func unpackFlights(packed []byte) ([]engine.Flight, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	if size, err := s2.DecodedLen(packed); err != nil || size > maxBlock {
		return nil, errBlock
	}
	b, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, errBlock
	}
	n, k := binary.Uvarint(b)
	if k <= 0 || n > mostFlights {
		return nil, errBlock
	}
	b = b[k:]
	var out []engine.Flight
	slot, sent := 0, int64(0)
	for range n {
		var v [3]int64
		for i := range v {
			if v[i], k = binary.Varint(b); k <= 0 {
				return nil, errBlock
			}
			b = b[k:]
		}
		slot, sent = slot+int(v[0]), sent+v[1]
		out = append(out, engine.Flight{Slot: slot, Due: sent - v[2], Sent: sent})
	}
	return out, nil
}
