package measure

import (
	"time"

	"github.com/redline-bench/redline/internal/result"
)

// Look is a moment at which a load in progress is looked at.
type Look struct {
	// Settle is the start of the load that figures leave out. It is set in the first look of a load.
	Settle time.Duration
	// At is the time of the look, since the load began.
	At time.Duration
	// Anew: figures cover the time since the look before this one.
	Anew bool
}

// Sight is what a look at a load in progress shows.
type Sight struct {
	Elapsed time.Duration // since the load began
	// Requests and Failures ended since the load began. Backlog are those that were sent and have not ended.
	Requests, Failures, Backlog int
	// Rate is the responses per second since the last look, Median the latency of the latest ones.
	Rate   float64
	Median time.Duration
	// Down says why the load was given up: the server does not answer. It is empty while it answers.
	Down string
	// Level computes the figures of the measured time, with intervals of this confidence, and the reasons why the client is
	// the limit. It may be called only until the Watch returns.
	Level func(confidence float64) (*result.Level, []result.Reason)
}

// Watch is told of each look, and returns the next one. False ends the load.
type Watch func(Sight) (next Look, more bool)
