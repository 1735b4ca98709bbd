package watch

import "time"

// mostSteps limits the steps of a level. If there are more, each two are merged.
const mostSteps = 240

// axis is the time axis that all lines of a level share, in Unix nanoseconds.
type axis struct {
	start, step int64
	lines       []*line
}

// line is one quantity over time. The value of a step is sum / weight, whatever the form: a gauge adds values and counts them, a
// rate adds increases and seconds, a ratio adds increases of both counters. So steps are merged by addition.
type line struct {
	of    string
	from  string
	cells []cell
}

// cell is one step of a line. max is the highest value of a gauge in the step; rates and ratios have only the step's own value, because
// two reads can be very close to each other.
type cell struct{ sum, weight, max float64 }

func (c *cell) value() (float64, bool) {
	if c.weight <= 0 {
		return 0, false
	}
	return c.sum / c.weight, true
}

func (c *cell) add(sum, weight, highest float64) {
	if c.weight > 0 {
		highest = max(highest, c.max)
	}
	c.sum, c.weight, c.max = c.sum+sum, c.weight+weight, highest
}

// add joins a line to the axis.
func (a *axis) add(l *line) *line {
	a.lines = append(a.lines, l)
	return l
}

// index is the step of a time; it merges steps until there are few enough. A time before the start is in step 0.
func (a *axis) index(at int64) int {
	for at-a.start >= mostSteps*a.step {
		a.step *= 2
		for _, l := range a.lines {
			l.halve()
		}
	}
	return int(max(0, at-a.start) / a.step)
}

func (l *line) halve() {
	n := (len(l.cells) + 1) / 2
	for i := range n {
		c := l.cells[2*i]
		if 2*i+1 < len(l.cells) {
			if d := l.cells[2*i+1]; d.weight > 0 {
				c.add(d.sum, d.weight, d.max)
			}
		}
		l.cells[i] = c
	}
	l.cells = l.cells[:n]
}

func (l *line) at(i int) *cell {
	for len(l.cells) <= i {
		l.cells = append(l.cells, cell{})
	}
	return &l.cells[i]
}

// point adds a value that holds at one time.
func (a *axis) point(l *line, at int64, v float64) {
	i := a.index(at) // it may merge steps, so it comes before the cell
	l.at(i).add(v, 1, v)
}

// spread adds an increase from one time to another, in equal parts of time. A read that failed leaves a longer stretch, over
// which the increase is even.
func (a *axis) spread(l *line, from, to int64, sum, weight float64) {
	if from = max(from, a.start); to <= from {
		return
	}
	last := a.index(to - 1) // it may merge steps, so it comes first
	first := a.index(from)
	total := float64(to - from)
	for i := first; i <= last; i++ {
		low, high := max(from, a.start+int64(i)*a.step), min(to, a.start+int64(i+1)*a.step)
		if high <= low {
			continue
		}
		part := float64(high-low) / total
		c := l.at(i)
		c.sum, c.weight = c.sum+sum*part, c.weight+weight*part
	}
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
