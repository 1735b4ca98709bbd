package measure

import (
	"cmp"
	"time"

	"github.com/redline-bench/redline/internal/result"
)

// Load is what a level asked of the client, and what the client spent on it.
type Load struct {
	Rate        float64       // requests per second that were due: what the schedule drew; 0 in closed loop
	Due         float64       // requests that were due
	Concurrency int           // requests in flight asked for; 0 in open loop
	Idle        time.Duration // closed loop with pauses: the time, summed over the slots, in which a slot had nothing in flight although no pause was asked for
	Paused      time.Duration // closed loop with pauses: the time, summed over the slots, in which a slot paused as it was asked to
	Held        bool          // a limit that the user set holds requests back that are due: that is not the client's doing
	Cap         int           // the most that could be in flight in open loop; 0 is no bound
	Serial      bool          // a sequence's request waits for the response to the one before it
	SendRate    float64       // requests per second sent
	Wall        time.Duration
	FlightTime  time.Duration // the time over which the number in flight is taken; 0 is Wall
	CPU         time.Duration
	Busy        float64 // share of the machine in use, 0 to 1
	GCPause     time.Duration
	SchedDelay  time.Duration
	Standstill  time.Duration // the longest time in which the whole process did not run
	Stalled     time.Duration // ends of requests waited so long for their records to be taken
	Dropped     uint64        // requests that were due and never sent
	MaxProcs    int
	Options     Options
}

// Options are the names of the options that advice refers to.
type Options struct {
	Rate    string // sets the request rate
	Records string // writes a file with every request
}

// Paced sets the rates of n requests of a schedule that began at start: the last was due and sent at these times. Both rates
// end with the last request, so that neither includes the wait for responses.
func (l *Load) Paced(n float64, start, lastDue, lastSent int64) {
	if lastDue <= start {
		return
	}
	l.Due = n
	l.Rate = n / time.Duration(lastDue-start).Seconds()
	l.SendRate = n / time.Duration(lastSent-start).Seconds()
}

// Health computes the client's own condition over the merged windows of a level.
//
// The mean number of requests in flight is the sum of their times in flight within the windows, divided by the time. Where
// slots pause because they are asked to, the number asked for is the one without the idle time I: with the time in flight F
// and the pauses P, a request would have taken the share (F+P)/(F+P+I) of its time, so asked = achieved · (F+P+I)/(F+P).
func (w *Window) Health(l Load) result.Health {
	lag := w.lag.Quantiles(50, 99)
	h := result.Health{
		LagP50Ns: lag[0], LagP99Ns: lag[1], LagMaxNs: w.lag.Max(),
		AskedRate: l.Rate, AskedInFlight: float64(l.Concurrency),
		GCPauseMaxNs: int64(l.GCPause), SchedDelayMaxNs: int64(l.SchedDelay), MachineShare: l.Busy,
		StalledNs: int64(l.Stalled), StandstillNs: int64(l.Standstill), Dropped: l.Dropped,
	}
	if w.late.Count() > 0 {
		late := w.late.Quantiles(50, 99)
		h.ReadLag = &result.ReadLag{P50Ns: late[0], P99Ns: late[1], MaxNs: w.late.Max()}
	}
	if l.Wall <= 0 {
		return h
	}
	h.AchievedRate = l.SendRate
	h.AchievedInFlight = float64(w.flightNs) / float64(cmp.Or(l.FlightTime, l.Wall))
	if busy := float64(w.flightNs) + float64(l.Paused); busy > 0 && l.Idle+l.Paused > 0 {
		h.AskedInFlight = h.AchievedInFlight * (1 + float64(l.Idle)/busy)
	}
	h.CPUCores = float64(l.CPU) / float64(l.Wall)
	if n := w.requests + w.failed; n > 0 {
		h.CPUPerRequestNs = int64(l.CPU) / int64(n)
	}
	return h
}

// Think splits the time, summed over the slots of a closed loop, in which nothing was in flight: idle is what came after the end of
// a think time, paused the rest. d is the time of a slot.
func (w *Window) Think(concurrency int, d time.Duration) (idle, paused time.Duration) {
	idle = time.Duration(w.lateNs)
	return idle, max(0, time.Duration(concurrency)*d-time.Duration(w.flightNs)-idle)
}

// Overhead is the share of the time, in percent, in which a request should have been in flight and was not.
// In closed loop that is the share of the slots' time in which a slot had nothing in flight: d is the time of a slot. In open
// loop it is the share of time in which a request was due and not yet sent.
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
