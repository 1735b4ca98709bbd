package metric

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/result"
)

// Slice is a part of the time.
type Slice struct {
	Begin, End int64 // Unix nanoseconds
	Whole      bool  // the run lasted for all of it
	Metrics    []result.Metric
}

// Slicer gathers metrics by stretches of time. A stretch is computed, written and let go when the one after the next
// begins, so that a long run takes no memory for them.
type Slicer struct {
	width int64
	o     Options
	first int64
	open  [2]struct { // the newest stretches; number -1 is none
		number int64
		c      *Collector
	}
	done func(*Slice)
}

// usualSlice is the width where none is asked for.
const usualSlice = 10 * time.Second

// NewSlicer makes a Slicer for stretches of a width; 0 is the usual one. done gets each stretch that is over.
func NewSlicer(width time.Duration, o Options, done func(*Slice)) *Slicer {
	if width <= 0 {
		width = usualSlice
	}
	s := &Slicer{width: int64(width), o: o, first: -1, done: done}
	s.open[0].number, s.open[1].number = -1, -1
	return s
}

// Add puts a sample where its response ended. Samples come in that order, up to the moment between two looks.
func (s *Slicer) Add(x *llm.Sample) {
	if x.Warmup {
		return
	}
	if s.first < 0 {
		s.first = x.Sent
	}
	number := max(0, (x.End-s.first)/s.width)
	if number > s.open[1].number {
		s.close(0, 0)
		s.open[0] = s.open[1]
		s.open[1].number, s.open[1].c = number, New(s.o)
	}
	for i := range s.open {
		if o := &s.open[i]; o.c != nil && (o.number == number || i == 0 && number < o.number) {
			o.c.Add(x)
			return
		}
	}
	s.open[1].c.Add(x)
}

// close computes a stretch. end is when the run ended; 0 while it goes on.
func (s *Slicer) close(i int, end int64) {
	o := &s.open[i]
	if o.c == nil {
		return
	}
	from := clock.Wall(s.first + o.number*s.width)
	s.done(&Slice{Begin: from, End: from + s.width, Whole: end == 0 || from+s.width <= end, Metrics: o.c.Metrics()})
	o.c = nil
}

// Finish writes the stretches that are not over yet.
func (s *Slicer) Finish(end int64) {
	s.close(0, end)
	s.close(1, end)
}
