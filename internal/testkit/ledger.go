package testkit

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Ledger is a server's own account of a load: it numbers requests as they are made, in the sequence id of their records,
// and keeps the record of each that ended. Tests of counts compare with it.
type Ledger struct {
	mu    sync.Mutex
	made  uint64
	ended map[uint64]record.Record
	twice bool
}

// Server makes a service that answers at random after up to slowest, fails up to half of the requests, or none, and
// gives some of them several responses where streams is set. What happens to request n follows from rng and n alone.
func (l *Ledger) Server(rng *rand.Rand, slowest time.Duration, streams bool) *Service {
	type answer struct {
		wait  time.Duration
		err   error
		parts int
		empty bool
	}
	share := []float64{0, 0, 0.02, 0.5}[rng.IntN(4)]
	table := make([]answer, 997)
	for i := range table {
		a := answer{wait: time.Duration(1 + rng.Int64N(int64(slowest))), parts: 1}
		if rng.Float64() < share {
			a.err = errors.New("refused")
		}
		if streams {
			a.parts, a.empty = rng.IntN(5), rng.IntN(2) == 0
		}
		table[i] = a
	}
	at := func(n int64) *answer { return &table[n%int64(len(table))] }
	s := &Service{Ended: l.note, Answer: func(n int64) (time.Duration, error) { return at(n).wait, at(n).err }}
	if streams {
		s.Stream = func(n int64) (int, bool) { return at(n).parts, at(n).empty }
	}
	return s
}

// number is the number of the next request.
func (l *Ledger) number() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made++
	return l.made
}

func (l *Ledger) note(r record.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = map[uint64]record.Record{}
	}
	_, known := l.ended[r.SeqID]
	l.twice = l.twice || known
	l.ended[r.SeqID] = r
}

// Made is the number of requests that were made.
func (l *Ledger) Made() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// Ended are the records of the requests that ended, by number; ok is false when one ended twice.
func (l *Ledger) Ended() (records map[uint64]record.Record, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended, !l.twice
}

// Sequences is a source of numbered requests that form sequences of a length, one open at a time. A length of 0 is requests
// that belong to none.
func (l *Ledger) Sequences(length int) *Numbered { return &Numbered{l: l, length: length} }

// Numbered is a source of numbered requests.
type Numbered struct {
	l          *Ledger
	length, at int
}

// Next fills in a call.
func (f *Numbered) Next(c *service.Call) {
	c.Req, c.Rec.SeqID = uint32(0), f.l.number()
	if f.length == 0 {
		return
	}
	if f.at++; f.at == f.length {
		f.at = 0
		c.Rec.Flags |= record.SequenceEnd
	}
}

// Close fills in the request that ends the open sequence, if there is one.
func (f *Numbered) Close(c *service.Call) bool {
	if f.at == 0 {
		return false
	}
	f.at = 0
	c.Req, c.Rec.SeqID = uint32(0), f.l.number()
	return true
}

// Session is a source of numbered requests with pauses between them, and then no more.
func (l *Ledger) Session(requests int, pause time.Duration) *Session {
	return &Session{Numbered: *l.Sequences(0), left: requests, pause: pause}
}

// Session is an engine.Listener.
type Session struct {
	Numbered
	left  int
	pause time.Duration
}

// Next fills in a call.
func (s *Session) Next(c *service.Call) {
	s.left--
	s.Numbered.Next(c)
}

// Heard accepts every answer.
func (s *Session) Heard(*service.Call, []record.Event, []byte) error { return nil }

// Pause is the pause before the next request.
func (s *Session) Pause() (time.Duration, bool) { return s.pause, s.left > 0 }
