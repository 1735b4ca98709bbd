package profile

import (
	"context"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Load makes the load of one level after another and passes its records on. The engine of this process does that, and so do the
// workers of a fleet together. The methods are those of engine.Engine; times are readings of this process's clock.
type Load interface {
	// Begin starts the load of an order and ends the one before, as engine.Start does.
	Begin(ctx context.Context, o Order) error
	Stop()
	Wait(ctx context.Context) error
	Finished(ctx context.Context) error
	Working() bool
	Restart()
	Close() error

	// Sync collects the records of all requests that have ended, then calls fn.
	Sync(fn func())
	Flights() []engine.Flight
	InFlight() int

	Failures() []engine.Failure
	ClearFailures()
	Failed() <-chan struct{}
	WorkerErrors() []engine.WorkerError
	GivenUp() *engine.StallError

	Counters
	Scheduled() int64
}

// Order is the load of a level, or of its warm-up.
type Order struct {
	Loop  engine.Loop // for this process alone
	Level *result.Level
	Limit int // requests in all; 0 for no limit
	Seed  uint64
}

// local is the load of this process alone.
type local struct{ *engine.Engine }

func (l local) Begin(ctx context.Context, o Order) error { return l.Start(ctx, o.Loop) }

// Done is a level that was measured before, with the reasons why the client limited it.
type Done struct {
	Level  result.Level    `json:"level"`
	Limits []result.Reason `json:"limits,omitempty"`
}

// Fleet is the load of several workers, which also tells what each of them did.
type Fleet interface {
	Load
	// Open names the function that receives all records. It is called once, before the first load.
	Open(collect func(r *record.Record, events []record.Event, data []byte))
	measure.Workers
	// Broken is why the workers cannot go on; nil while they can.
	Broken() error
	// Ended keeps a level that is over, with the reasons why the client limited it, and lets go of its records. The level of a
	// search is nil: the search keeps it.
	Ended(lv *result.Level, limits []result.Reason) error
}
