package profile

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/vitals"
)

// Counters are what a load counts: those of engine.Engine.
type Counters interface {
	Sent() uint64
	Behind() time.Duration
	Dropped() uint64
	Stalled() time.Duration
	Connections() (n int, busiest time.Duration)
}

// ReadState takes a reading of this process and of a load. Workers of a fleet are read too.
func ReadState(l Counters) measure.State {
	s := measure.State{Stalled: l.Stalled(), Dropped: l.Dropped(), Behind: l.Behind(), Vitals: vitals.Read()}
	s.Connections, s.Busiest = l.Connections()
	if f, ok := l.(measure.Workers); ok {
		s.Workers = f.Readings()
	}
	s.At, s.Sent = clock.Now(), l.Sent()
	return s
}
