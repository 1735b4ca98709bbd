package metric

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/result"
)

// Slice is one time slice.
type Slice struct {
	Begin, End int64 // Unix nanoseconds
	Whole      bool  // the run covered the whole slice
	Metrics    []result.Metric
}

// Slicer computes metrics for time slices. It computes, writes and drops a slice when the slice after the next begins, so that
// memory does not grow with the run.
type Slicer struct {
	width int64
	o     Options
	first int64
	open  [2]struct { // the newest slices; number -1 for none
		number int64
		c      *Collector
	}
	done func(*Slice)
}

// usualSlice is the default length of a slice.
const usualSlice = 10 * time.Second

// NewSlicer makes a Slicer for slices of this length; 0 means the default. done receives each finished slice.
func NewSlicer(width time.Duration, o Options, done func(*Slice)) *Slicer {
	if width <= 0 {
		width = usualSlice
	}
	s := &Slicer{width: int64(width), o: o, first: -1, done: done}
	s.open[0].number, s.open[1].number = -1, -1
	return s
}

// Add adds a sample to the slice in which its response ended. Samples must come nearly in that order.
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

// close computes a slice. end is the end of the run; 0 during the run.
func (s *Slicer) close(i int, end int64) {
	o := &s.open[i]
	if o.c == nil {
		return
	}
	from := clock.Wall(s.first + o.number*s.width)
	s.done(&Slice{Begin: from, End: from + s.width, Whole: end == 0 || from+s.width <= end, Metrics: o.c.Metrics()})
	o.c = nil
}

// Finish writes the remaining slices.
func (s *Slicer) Finish(end int64) {
	s.close(0, end)
	s.close(1, end)
}
