// Package vitals measures this process: its CPU time, the machine's load, and the pauses of the Go runtime. A load generator
// needs this to distinguish its own limits from the server's.
package vitals

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// Reading is the cumulative state at one moment.
type Reading struct {
	CPU        time.Duration // user and system time of this process
	Busy, Idle uint64        // clock ticks of the whole machine; both 0 if they cannot be read
	Steal      uint64        // the part of Busy in which a hypervisor gave the cores to other machines
	gc, sched  *metrics.Float64Histogram
}

// Usage is the difference of two readings.
type Usage struct {
	CPU time.Duration
	// Busy is the share of the whole machine that was busy, 0 to 1; 0 if it cannot be read.
	Busy float64
	// Steal is the share of the whole machine that a hypervisor gave to other machines; it is part of Busy.
	Steal float64
	// Machine is the time of all cores of the machine; 0 if it cannot be read.
	Machine time.Duration
	// GCPause and SchedDelay are the longest pause of the garbage collector and the longest wait of a ready
	// goroutine for a processor, as upper bounds of the runtime's histogram buckets.
	GCPause, SchedDelay time.Duration
}

const (
	gcPauses    = "/sched/pauses/total/gc:seconds"
	schedDelays = "/sched/latencies:seconds"
)

// tick is the unit of the kernel's counters of CPU time.
const tick = 10 * time.Millisecond

// Read takes a reading.
func Read() Reading {
	samples := []metrics.Sample{{Name: gcPauses}, {Name: schedDelays}}
	metrics.Read(samples)
	r := Reading{CPU: cpuTime()}
	r.Busy, r.Idle, r.Steal = machineTicks()
	r.gc, r.sched = histogram(samples[0]), histogram(samples[1])
	return r
}

func histogram(s metrics.Sample) *metrics.Float64Histogram {
	if s.Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return s.Value.Float64Histogram()
}

// Since returns the usage between the earlier reading o and r.
func (r Reading) Since(o Reading) Usage {
	u := Usage{CPU: r.CPU - o.CPU, GCPause: worst(o.gc, r.gc), SchedDelay: worst(o.sched, r.sched)}
	if total := (r.Busy - o.Busy) + (r.Idle - o.Idle); total > 0 && r.Busy >= o.Busy {
		u.Busy, u.Machine = float64(r.Busy-o.Busy)/float64(total), time.Duration(total)*tick
		u.Steal = float64(max(r.Steal, o.Steal)-o.Steal) / float64(total)
	}
	return u
}

// worst returns the upper edge of the highest bucket that grew between the two histograms.
func worst(from, to *metrics.Float64Histogram) time.Duration {
	if from == nil || to == nil || len(from.Counts) != len(to.Counts) {
		return 0
	}
	for i, n := range slices.Backward(to.Counts) {
		if n > from.Counts[i] {
			edge := to.Buckets[i+1]
			if math.IsInf(edge, 1) {
				edge = to.Buckets[i]
			}
			return time.Duration(edge * float64(time.Second))
		}
	}
	return 0
}
