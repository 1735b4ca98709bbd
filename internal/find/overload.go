package find

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// leastBacklog is a backlog that is never too high by itself, and backlogTime the time whose arrivals never are: a server may stand
	// still for a moment.
	leastBacklog = 20
	backlogTime  = 500 * time.Millisecond
	// overloadDeviations is the growth of an overload's backlog, in square roots of the number of requests. The backlog of a server that
	// is just as fast as the load grows by less than 3 square roots in 199 of 200 cases, and that of a slower load by less.
	overloadDeviations = 4
	// steadyShare is the least share of that growth in the second half of the time. Where the backlog only moves to its level, the first
	// half has more.
	steadyShare = 0.4
	// rampTimes is how many times Settle a probe may take until as many requests have ended as wait.
	rampTimes = 6
)

// backlog is the number of requests that were due and had not ended at one observation.
type backlog struct{ due, waiting float64 }

// withBacklog is the backlog of the running probe with that of one more observation. The time in which the probe settles is
// left out, and that until as many requests have ended as wait: until then a server that keeps up has a growing backlog, too.
func (s *Search) withBacklog(o Observation) []backlog {
	ended := o.Requests + o.Failures
	if o.Elapsed <= s.step.Settle || len(s.backlog) == 0 && ended < o.Backlog && o.Elapsed < rampTimes*s.step.Settle {
		return s.backlog
	}
	return append(s.backlog, backlog{due: float64(ended + o.Backlog), waiting: float64(o.Backlog)})
}

// Overloaded tells whether an observation would end the running probe as an overload. The caller then adds readings and
// looks at its own limits, so that an overload of the client is not taken for one of the server.
func (s *Search) Overloaded(o Observation) bool {
	return s.step.Do == Run && (s.overloaded(s.withBacklog(o)) || s.tooManyWait(o))
}

// overloaded tells whether the backlog has grown steadily, and by more than chance explains.
func (s *Search) overloaded(list []backlog) bool {
	if len(list) < 3 {
		return false
	}
	first, middle, now := list[0], list[len(list)/2], list[len(list)-1]
	growth := now.waiting - first.waiting
	return growth > overloadDeviations*math.Sqrt(now.due-first.due) && now.waiting-middle.waiting >= steadyShare*growth
}

// tooManyWait tells whether so many requests of an open loop wait that no latency objective can hold: by Little's law the
// mean latency is the backlog divided by the rate.
func (s *Search) tooManyWait(o Observation) bool {
	if s.conf.Whole || s.patience == 0 {
		return false
	}
	return float64(o.Backlog) > max(leastBacklog, s.step.Load*max(backlogTime, 2*s.patience).Seconds())
}

// latencyLimit is the longest latency that an objective of any tier allows for a whole request; 0 where a tier has none.
func (s *Search) latencyLimit() time.Duration {
	var longest time.Duration
	for i := range s.conf.Tiers {
		limit := s.conf.Tiers[i].LatencyLimit(wholeLatency)
		if limit == 0 {
			return 0
		}
		longest = max(longest, limit)
	}
	return longest
}

// wholeLatency tells whether a metric is a latency of whole requests: one that at least half of them exceed when their mean
// does by far.
func wholeLatency(name string) bool {
	if head, tail, ok := strings.Cut(name, "."); ok && (head == "latency" || head == "due" || head == "request_latency") {
		name = tail
	}
	p, ok := percentile(name)
	return name == "avg" || name[0] == 'p' && ok && p >= 50
}

// percentile reads the percentile of a name such as p99 or ttft.p99.9.
func percentile(name string) (p float64, ok bool) {
	if i := strings.LastIndex(name, ".p"); i >= 0 {
		name = name[i+1:]
	}
	digits, ok := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(digits, 64)
	return p, ok && err == nil && p > 0 && p < 100
}
