package record

import "sync/atomic"

// Blocks start small, so that ten thousand idle connections cost little, and grow to maxBlock for busy ones.
const (
	minBlock = 16
	maxBlock = 1024
	// maxArena bounds what a recycled block keeps of its arena, in bytes.
	maxArena = 1 << 20
	// maxSpares is how many emptied blocks wait for the writer: enough for a busy lane between two looks of the collector.
	maxSpares = 8
)

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
}

// Shard is the single-writer, single-reader list of blocks of one worker. Use NewShard.
type Shard struct {
	keep bool
	tail *block // writer's
	size int    // writer's
	head *block // reader's
	read uint32 // reader's
	// spares passes emptied blocks back to the writer.
	spares chan *block
}

// NewShard makes an empty shard. With keep, Add stores events and response bytes too.
func NewShard(keep bool) *Shard {
	s := &Shard{keep: keep, size: minBlock, spares: make(chan *block, maxSpares)}
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
	if int(n) == len(b.recs) {
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
}

func (s *Shard) grow() *block {
	var b *block
	select {
	case b = <-s.spares:
	default:
		if s.size < maxBlock {
			s.size *= 2
		}
		b = s.newBlock()
	}
	s.tail.next.Store(b)
	s.tail = b
	return b
}

// Drain calls fn for every record added since the last Drain. Only the collector may call it. What fn is
// given is valid until it returns.
func (s *Shard) Drain(fn func(r *Record, events []Event, data []byte)) {
	for {
		b := s.head
		n := b.n.Load()
		for ; s.read < n; s.read++ {
			if b.extras == nil {
				fn(&b.recs[s.read], nil, nil)
				continue
			}
			x := &b.extras[s.read]
			fn(&b.recs[s.read], x.events, x.data)
		}
		next := b.next.Load()
		if int(n) < len(b.recs) || next == nil {
			return
		}
		s.head, s.read = next, 0
		s.recycle(b)
	}
}

// recycle hands an emptied block back, unless its arenas have grown so large that they are better freed.
func (s *Shard) recycle(b *block) {
	if cap(b.data) > maxArena || cap(b.events)*16 > maxArena {
		return
	}
	b.n.Store(0)
	b.next.Store(nil)
	b.events, b.data = b.events[:0], b.data[:0]
	select {
	case s.spares <- b:
	default:
	}
}
