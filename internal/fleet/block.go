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

// packer gathers records as bytes: times as differences in variable-length integers, which take a quarter of a record's size.
type packer struct {
	buf     []byte
	n       int
	lastEnd int64
	lastSeq uint64
}

func (p *packer) add(r *record.Record, data []byte) {
	b := p.buf
	b = binary.AppendVarint(b, r.End-p.lastEnd)
	b = binary.AppendVarint(b, r.End-r.Sent)
	b = binary.AppendVarint(b, r.Sent-r.Due)
	b = binary.AppendVarint(b, r.Written-r.Sent)
	b = binary.AppendVarint(b, r.End-r.First)
	b = binary.AppendVarint(b, r.Late)
	b = binary.AppendVarint(b, int64(r.SeqID-p.lastSeq))
	b = binary.AppendUvarint(b, r.In)
	b = binary.AppendUvarint(b, r.Out)
	b = binary.AppendUvarint(b, uint64(r.Step))
	b = binary.AppendUvarint(b, uint64(r.Slot))
	b = binary.AppendUvarint(b, uint64(r.Responses))
	b = append(b, byte(r.Class), r.Flags)
	b = binary.AppendUvarint(b, uint64(len(data)))
	b = append(b, data...)
	p.buf = b
	p.lastEnd, p.lastSeq = r.End, r.SeqID
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
	size, err := s2.DecodedLen(msg[4+n:])
	if err != nil || size > maxBlock {
		return h, nil, errBlock
	}
	records, err = s2.Decode(nil, msg[4+n:])
	if err != nil {
		return h, nil, errBlock
	}
	return h, records, nil
}

// eachRecord calls fn for each of the n records of a block, with the data of the record. Times are those of the worker's clock.
func eachRecord(b []byte, n int, fn func(r *record.Record, data []byte)) error {
	var end int64
	var seq uint64
	broken := false
	signed := func() int64 {
		v, k := binary.Varint(b)
		if k <= 0 {
			broken = true
			return 0
		}
		b = b[k:]
		return v
	}
	unsigned := func() uint64 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			broken = true
			return 0
		}
		b = b[k:]
		return v
	}
	for range n {
		var r record.Record
		end += signed()
		r.End = end
		r.Sent = r.End - signed()
		r.Due = r.Sent - signed()
		r.Written = r.Sent + signed()
		r.First = r.End - signed()
		r.Late = signed()
		seq += uint64(signed())
		r.SeqID = seq
		r.In, r.Out = unsigned(), unsigned()
		r.Step, r.Slot, r.Responses = uint32(unsigned()), uint32(unsigned()), uint32(unsigned())
		if broken || len(b) < 2 {
			return errBlock
		}
		r.Class, r.Flags = record.Class(b[0]), b[1]
		b = b[2:]
		size := unsigned()
		if broken || size > uint64(len(b)) {
			return errBlock
		}
		fn(&r, b[:size])
		b = b[size:]
	}
	if len(b) > 0 {
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
