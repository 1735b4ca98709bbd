package record

import (
	"sync/atomic"
	"time"
	"unsafe"
)

// Blocks start small, so that ten thousand idle connections cost little, and grow to maxBlock for busy ones.
const (
	minBlock = 16
	maxBlock = 1024
	// maxArena is the size of an arena, in bytes, from which a block counts as full: every shard holds a block, and there may
	// be hundreds of shards. A recycled block keeps at most four times as much.
	maxArena = 64 << 10
	// maxSpares limits the empty blocks kept for the writers: enough for busy writers between two runs of the collector.
	maxSpares = 32
)

// Backlog limits the records of one run that wait for the collector. If the collector falls behind, for example because of
// an export to a slow disk, writers wait for it: memory must not grow with the length of a run, and no record may be lost.
// Backlog keeps the time that writers waited, because it distorts the measurement.
type Backlog struct {
	bytes   atomic.Int64
	stalled atomic.Int64
	full    chan struct{}
	// spares passes empty blocks back to the writers.
	spares chan *block
}

// NewBacklog makes an empty backlog.
func NewBacklog() *Backlog {
	return &Backlog{full: make(chan struct{}, 1), spares: make(chan *block, maxSpares)}
}

const (
	// maxBacklog limits the bytes that wait; at the highest rates they are a few hundredths of a second of records. From a
	// quarter of it on, the collector is called.
	maxBacklog = 8 << 20
	// A writer that waits looks again after these times.
	firstNap = 200 * time.Microsecond
	mostNap  = 5 * time.Millisecond
)

// Stalled is how long writers have waited for the collector.
func (b *Backlog) Stalled() time.Duration { return time.Duration(b.stalled.Load()) }

// Full calls the collector.
func (b *Backlog) Full() <-chan struct{} { return b.full }

// wait calls the collector when many bytes wait for it, and returns when no more than maxBacklog do.
func (b *Backlog) wait() {
	waiting := b.bytes.Load()
	if waiting > maxBacklog/4 {
		select {
		case b.full <- struct{}{}:
		default:
		}
	}
	for nap := firstNap; waiting > maxBacklog; nap = min(2*nap, mostNap) {
		start := time.Now()
		time.Sleep(nap)
		b.stalled.Add(int64(time.Since(start)))
		waiting = b.bytes.Load()
	}
}

// extra is the variable part of one record. Its slices point into the block's arenas.
type extra struct {
	events []Event
	data   []byte
}

type block struct {
	recs   []Record
	extras []extra       // beside recs; nil when the shard keeps none
	n      atomic.Uint32 // published records: the reader may touch entries below it
	next   atomic.Pointer[block]
	events []Event // arenas; the writer's alone
	data   []byte
	cost   int64 // bytes of this block in the backlog; set before another block follows
}

// Shard is the single-writer, single-reader list of blocks of one worker. Use NewShard.
type Shard struct {
	keep bool
	back *Backlog
	tail *block // writer's
	size int    // writer's
	head *block // reader's
	read uint32 // reader's
}

// NewShard makes an empty shard of a backlog. With keep, Add stores events and response bytes too.
func NewShard(keep bool, back *Backlog) *Shard {
	s := &Shard{keep: keep, back: back, size: minBlock}
	b := s.newBlock()
	s.tail, s.head = b, b
	return s
}

func (s *Shard) newBlock() *block {
	b := &block{recs: make([]Record, s.size)}
	if s.keep {
		b.extras = make([]extra, s.size)
	}
	return b
}

// Add appends one record with copies of its events and response bytes. Only the shard's writer may call it.
func (s *Shard) Add(r *Record, events []Event, data []byte) {
	b := s.tail
	n := b.n.Load()
	full := int(n) == len(b.recs) || len(b.data) > maxArena
	if full {
		b = s.grow()
		n = 0
	}
	b.recs[n] = *r
	if s.keep {
		e, d := len(b.events), len(b.data)
		b.events = append(b.events, events...)
		b.data = append(b.data, data...)
		b.extras[n] = extra{events: b.events[e:], data: b.data[d:]}
	}
	b.n.Store(n + 1)
	if full {
		s.back.wait() // only now, so that the collector can take the full block and this record
	}
}

// grow starts another block.
func (s *Shard) grow() *block {
	full := s.tail
	full.cost = int64(len(full.recs))*recordSize + int64(len(full.extras))*extraSize + int64(cap(full.data)) + int64(cap(full.events))*eventSize
	s.back.bytes.Add(full.cost)
	var b *block
	select {
	case b = <-s.back.spares:
	default:
		if s.size < maxBlock && int(full.n.Load()) == len(full.recs) {
			s.size *= 2
		}
		b = s.newBlock()
	}
	full.next.Store(b)
	s.tail = b
	return b
}

const (
	recordSize = int64(unsafe.Sizeof(Record{}))
	extraSize  = int64(unsafe.Sizeof(extra{}))
	eventSize  = int64(unsafe.Sizeof(Event{}))
)

// Drain calls fn for every record that was added since the last Drain and before this one. It leaves what is added while it runs, so
// that it ends also where the writer is faster than fn. Only the collector may call it. What fn is given is valid until it returns.
func (s *Shard) Drain(fn func(r *Record, events []Event, data []byte)) {
	last, end := s.end()
	for {
		b, n := s.head, end
		if b != last {
			n = b.n.Load()
		}
		for ; s.read < n; s.read++ {
			if b.extras == nil {
				fn(&b.recs[s.read], nil, nil)
				continue
			}
			x := &b.extras[s.read]
			fn(&b.recs[s.read], x.events, x.data)
		}
		if b == last {
			return
		}
		s.head, s.read = b.next.Load(), 0
		s.back.bytes.Add(-b.cost)
		s.recycle(b)
	}
}

// end returns the last block and the number of its records. Nothing more is added to the blocks before it.
func (s *Shard) end() (last *block, n uint32) {
	for last = s.head; ; {
		next := last.next.Load() // before the number of records, which is final when another block follows
		n = last.n.Load()
		if next == nil {
			return last, n
		}
		last = next
	}
}

// recycle returns an empty block to the writers, unless its arenas are too large to keep.
func (s *Shard) recycle(b *block) {
	if cap(b.data) > 4*maxArena || int64(cap(b.events))*eventSize > 4*maxArena {
		return
	}
	b.n.Store(0)
	b.next.Store(nil)
	b.events, b.data = b.events[:0], b.data[:0]
	select {
	case s.back.spares <- b:
	default:
	}
}
