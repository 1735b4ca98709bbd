package fleet

import (
	"encoding/binary"

	"github.com/klauspost/compress/s2"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
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
	b, err := decompress(packed)
	if err != nil {
		return nil, err
	}
	in := record.Unpacker{Rest: b}
	n := in.Unsigned()
	if in.Broken || n > mostFlights {
		return nil, errBlock
	}
	var out []engine.Flight
	var last engine.Flight
	for range n {
		last.Slot += int(in.Signed())
		last.Sent += in.Signed()
		last.Due = last.Sent - in.Signed()
		if in.Broken {
			return nil, errBlock
		}
		out = append(out, last)
	}
	return out, nil
}
