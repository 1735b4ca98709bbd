package measure

import (
	"cmp"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/vitals"
)

// Load is the load that a level requested, and the resources that the client used for it.
type Load struct {
	Rate        float64       // requests per second that were due on the schedule; 0 in closed loop
	Due         float64       // requests that were due
	Concurrency int           // requested number in flight; 0 in open loop
	Idle        time.Duration // closed loop with pauses: time, summed over the slots, in which a slot had no request in flight and no pause
	Paused      time.Duration // closed loop with pauses: time, summed over the slots, in which a slot paused as requested
	Held        bool          // a limit of the user delays due requests: this is not the client's fault
	Cap         int           // open loop: limit of requests in flight; 0 for no limit
	Serial      bool          // a sequence's request waits for the response to the previous one
	SendRate    float64       // requests per second sent
	Wall        time.Duration
	FlightTime  time.Duration // the time over which the number in flight is averaged; 0 means Wall
	vitals.Usage
	Standstill time.Duration // the longest time in which the whole process did not run
	Stalled    time.Duration // how long ended requests waited until the records of earlier ones were written
	Dropped    uint64        // requests that were due and never sent
	MaxProcs   int
	// Connections is the number of connections that carry many requests at once; 0 if each has one request. ConnectionBusy is
	// how long the busiest of them worked.
	Connections    int
	ConnectionBusy time.Duration
	Options        Options
}

// Options are the names of the options that advice mentions.
type Options struct {
	Rate    string // sets the request rate
	Records string // writes a file with every request
	// Here: the server runs on this machine.
	Here bool
}

// paced sets the rates of n requests of a schedule that began at start: the last was due and sent at these times. Both rates
// end with the last request, so that neither includes the wait for responses.
func (l *Load) paced(n float64, start, lastDue, lastSent int64) {
	if lastDue <= start {
		return
	}
	l.Due = n
	l.Rate = n / time.Duration(lastDue-start).Seconds()
	l.SendRate = n / time.Duration(lastSent-start).Seconds()
}

// minConnectionGain: more connections are worth a line if they can do at least this many times as much.
const minConnectionGain = 1.5

// Health computes the client health over the merged windows of a level.
//
// The mean number of requests in flight is the sum of their times in flight within the windows, divided by the time. If
// slots pause on request, the requested number is the one without the idle time I: with the time in flight F and the
// pauses P, a request would have taken the share (F+P)/(F+P+I) of its time, so asked = achieved · (F+P+I)/(F+P).
func (w *Window) Health(l Load) result.Health {
	lag := w.lag.Quantiles(50, 99)
	h := l.health(w.flightNs, w.requests+w.failed)
	h.LagP50Ns, h.LagP99Ns, h.LagMaxNs = lag[0], lag[1], w.lag.Max()
	if w.late.Count() > 0 {
		late := w.late.Quantiles(50, 99)
		h.ReadLag = &result.ReadLag{P50Ns: late[0], P99Ns: late[1], MaxNs: w.late.Max()}
	}
	if busy := float64(w.flightNs) + float64(l.Paused); busy > 0 && l.Idle+l.Paused > 0 {
		h.AskedInFlight = h.AchievedInFlight * (1 + float64(l.Idle)/busy)
	}
	h.MoreConnections = moreConnections(h, l)
	return h
}

// health is what the load itself says: flight is the time in flight of all its requests, which are n.
func (l *Load) health(flight int64, n uint64) result.Health {
	h := result.Health{
		AskedRate: l.Rate, AskedInFlight: float64(l.Concurrency), MachineShare: l.Busy, StealShare: l.Steal, ServerHere: l.Options.Here,
		GCPauseMaxNs: int64(l.GCPause), SchedDelayMaxNs: int64(l.SchedDelay), StalledNs: int64(l.Stalled), StandstillNs: int64(l.Standstill),
		Dropped: l.Dropped, Connections: l.Connections,
	}
	if l.Wall > 0 {
		h.AchievedRate, h.AchievedInFlight = l.SendRate, float64(flight)/float64(cmp.Or(l.FlightTime, l.Wall))
		h.CPUCores, h.MachineCores = float64(l.CPU)/float64(l.Wall), float64(l.Machine)/float64(l.Wall)
		h.ConnectionBusy = min(1, float64(l.ConnectionBusy)/float64(l.Wall))
	}
	if n > 0 {
		h.CPUPerRequestNs = int64(l.CPU) / int64(n)
	}
	return h
}

// moreConnections returns how many connections would spread the work of the busiest one over the processors that are free; 0 if
// the throughput would hardly grow.
func moreConnections(h result.Health, l Load) int {
	free := int(float64(l.MaxProcs) * (1 - l.Busy))
	h.MoreConnections = min(l.MaxProcs, l.Connections+free, int(math.Round(h.AchievedInFlight)))
	if l.Connections == 0 || h.ConnectionGain() < minConnectionGain {
		return 0
	}
	return h.MoreConnections
}

// Think splits the time, summed over the slots of a closed loop, in which no request was in flight: idle is the time after
// the end of a think time, paused the rest. d is the time of a slot.
func (w *Window) Think(concurrency int, d time.Duration) (idle, paused time.Duration) {
	idle = time.Duration(w.lateNs)
	return idle, max(0, time.Duration(concurrency)*d-time.Duration(w.flightNs)-idle)
}

// Sending is the time that the client spent on writing the requests of the window.
func (w *Window) Sending() time.Duration { return time.Duration(w.sendNs) }

// Overhead is the share of the time, in percent, in which a request should have been in flight and was not.
// In closed loop that is the share of the slots' time in which a slot had nothing in flight: d is the time of a slot. In open
// loop it is the share of time in which a request was delayed and not yet sent.
func (w *Window) Overhead(concurrency int, d, behind time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	share := float64(behind) / float64(d)
	if concurrency > 0 {
		share = 1 - float64(w.flightNs)/(float64(d)*float64(concurrency))
	}
	return 100 * min(1, max(0, share))
}
