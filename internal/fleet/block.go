package fleet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/redline-bench/redline/internal/record"
)

// blockSize is the number of bytes of records from which a block is sent before its time: well below the largest message that
// NATS takes unless it is told otherwise, which is 1 MiB.
const blockSize = 256 << 10

// Head is what a worker tells with each block: how far its records go, and what it has counted until then.
type Head struct {
	// Seq numbers the blocks of a worker from 1. Gen is the number of the load that the worker makes, or made last.
	Seq uint64 `json:"seq"`
	Gen uint64 `json:"gen,omitempty"`
	// Mark is a time of the worker's clock: every request that ended before is in this block or an earlier one.
	Mark    int64 `json:"mark"`
	Records int   `json:"n"`
	// Working: a request is in flight or will yet be sent. Failed: failures have ended the worker's load.
	Working bool `json:"working,omitempty"`
	Failed  bool `json:"failed,omitempty"`
	// Error is why the worker cannot go on; empty while it can.
	Error string `json:"error,omitempty"`
	// Began is when the load began, by the worker's clock.
	Began    int64         `json:"began,omitempty"`
	Sent     uint64        `json:"sent"`
	InFlight int           `json:"in_flight,omitempty"`
	Behind   time.Duration `json:"behind,omitempty"`
	Dropped  uint64        `json:"dropped,omitempty"`
	Stalled  time.Duration `json:"stalled,omitempty"`
	CPU      time.Duration `json:"cpu,omitempty"`
	Busy     uint64        `json:"busy,omitempty"` // clock ticks of the whole machine
	Idle     uint64        `json:"idle,omitempty"`
	Steal    uint64        `json:"steal,omitempty"`
	// The longest pause of the garbage collector, wait for a processor and standstill since the last block.
	GCPause     time.Duration `json:"gc,omitempty"`
	SchedDelay  time.Duration `json:"sched,omitempty"`
	Standstill  time.Duration `json:"standstill,omitempty"`
	Connections int           `json:"connections,omitempty"`
	Busiest     time.Duration `json:"busiest,omitempty"`
	Failures    []Failure     `json:"failures,omitempty"` // all groups since failures were cleared; only if a count has changed
}

// Failure is a group of failed requests of a worker.
type Failure struct {
	Class record.Class `json:"class"`
	Code  int          `json:"code,omitempty"` // status of the server's answer
	Text  string       `json:"text"`
	Slot  int          `json:"slot"`
	Count uint64       `json:"count"`
}

// Bits of the first byte of a packed record: these values differ from those of the record before. The others are not written. Most records of a
// run have the values of the record before.
const (
	newLag = 1 << iota
	newLate
	newSeqID
	newIn
	newOut
	newStep
	newEnd // class, flags and number of responses
	newSize
)

// packer gathers records as bytes: times as differences in variable-length integers, and values only where they change. This takes an eighth of a
// record's size.
type packer struct {
	buf  []byte
	n    int
	last record.Record
	size int // of the last record's data
}

func (p *packer) add(r *record.Record, data []byte) {
	b, at, l := p.buf, len(p.buf), &p.last
	b = append(b, 0)
	b = binary.AppendVarint(b, r.End-l.End)
	b = binary.AppendVarint(b, r.End-r.Sent)
	b = binary.AppendVarint(b, r.Written-r.Sent)
	b = binary.AppendVarint(b, r.End-r.First)
	b = binary.AppendUvarint(b, uint64(r.Slot))
	var changed byte
	if lag := r.Sent - r.Due; lag != l.Sent-l.Due {
		changed |= newLag
		b = binary.AppendVarint(b, lag)
	}
	if r.Late != l.Late {
		changed |= newLate
		b = binary.AppendVarint(b, r.Late)
	}
	if r.SeqID != l.SeqID {
		changed |= newSeqID
		b = binary.AppendVarint(b, int64(r.SeqID-l.SeqID))
	}
	if r.In != l.In {
		changed |= newIn
		b = binary.AppendUvarint(b, r.In)
	}
	if r.Out != l.Out {
		changed |= newOut
		b = binary.AppendUvarint(b, r.Out)
	}
	if r.Step != l.Step {
		changed |= newStep
		b = binary.AppendUvarint(b, uint64(r.Step))
	}
	if r.Class != l.Class || r.Flags != l.Flags || r.Responses != l.Responses {
		changed |= newEnd
		b = append(b, byte(r.Class), r.Flags)
		b = binary.AppendUvarint(b, uint64(r.Responses))
	}
	if len(data) != p.size {
		changed |= newSize
		b = binary.AppendUvarint(b, uint64(len(data)))
	}
	b[at] = changed
	b = append(b, data...)
	p.buf, p.last, p.size = b, *r, len(data)
	p.n++
}

// block is the head and the records as one message, and empties the packer.
func (p *packer) block(h *Head) ([]byte, error) {
	h.Records = p.n
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 4, 4+len(head)+s2.MaxEncodedLen(len(p.buf)))
	binary.LittleEndian.PutUint32(out, uint32(len(head)))
	out = append(out, head...)
	packed := s2.Encode(out[len(out):cap(out)], p.buf)
	out = append(out, packed...)
	*p = packer{buf: p.buf[:0]}
	return out, nil
}

// errBlock means that a message is no block.
var errBlock = errors.New("a block of records is damaged")

// maxBlock limits the memory that one block may take when it is unpacked.
const maxBlock = 64 << 20

// unpack reads a block: its head, and the packed records for eachRecord.
func unpack(msg []byte) (h Head, records []byte, err error) {
	if len(msg) < 4 {
		return h, nil, errBlock
	}
	n := binary.LittleEndian.Uint32(msg)
	if uint64(n) > uint64(len(msg)-4) {
		return h, nil, errBlock
	}
	if err := json.Unmarshal(msg[4:4+n], &h); err != nil {
		return h, nil, errBlock
	}
	records, err = decompress(msg[4+n:])
	return h, records, err
}

// decompress undoes s2.Encode.
func decompress(packed []byte) ([]byte, error) {
	if size, err := s2.DecodedLen(packed); err != nil || size > maxBlock {
		return nil, errBlock
	}
	b, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, errBlock
	}
	return b, nil
}

// eachRecord calls fn for each of the n records of a block, with the data of the record. Times are those of the worker's clock.
func eachRecord(b []byte, n int, fn func(r *record.Record, data []byte)) error {
	var last record.Record
	var size uint64
	in := record.Unpacker{Rest: b}
	for range n {
		changed := in.Octet()
		r := record.Record{SeqID: last.SeqID, Late: last.Late, In: last.In, Out: last.Out, Step: last.Step, Class: last.Class, Flags: last.Flags, Responses: last.Responses}
		r.End = last.End + in.Signed()
		r.Sent = r.End - in.Signed()
		r.Written = r.Sent + in.Signed()
		r.First = r.End - in.Signed()
		r.Slot = uint32(in.Unsigned())
		r.Due = r.Sent - (last.Sent - last.Due)
		if changed&newLag != 0 {
			r.Due = r.Sent - in.Signed()
		}
		if changed&newLate != 0 {
			r.Late = in.Signed()
		}
		if changed&newSeqID != 0 {
			r.SeqID += uint64(in.Signed())
		}
		if changed&newIn != 0 {
			r.In = in.Unsigned()
		}
		if changed&newOut != 0 {
			r.Out = in.Unsigned()
		}
		if changed&newStep != 0 {
			r.Step = uint32(in.Unsigned())
		}
		if changed&newEnd != 0 {
			r.Class, r.Flags, r.Responses = record.Class(in.Octet()), in.Octet(), uint32(in.Unsigned())
		}
		if changed&newSize != 0 {
			size = in.Unsigned()
		}
		data := in.Take(size)
		if in.Broken {
			return errBlock
		}
		last = r // fn may change r
		fn(&r, data)
	}
	if len(in.Rest) > 0 {
		return errBlock
	}
	return nil
}

// shift moves the times of a record to a clock that is offset behind. A First of 0 means that nothing came.
func shift(r *record.Record, offset int64) {
	r.Due -= offset
	r.Sent -= offset
	r.Written -= offset
	r.End -= offset
	if r.First != 0 {
		r.First -= offset
	}
}
