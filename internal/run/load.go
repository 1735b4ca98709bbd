// Package run is the seam between a run and what sends its requests. A run decides what is sent next and what counts; a Load sends it: the
// engine of this process (Engine), or the workers of a fleet (fleet.Run). A worker of a fleet makes its share with a Load too.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Load makes one load after another and passes on the record of each request. Times are readings of this process's clock.
type Load interface {
	// Begin changes the load to that of an order. It does not wait for requests in flight: whoever wants a load to begin with nothing in
	// flight drains the one before. It returns when the load has begun.
	Begin(ctx context.Context, o Order) error
	// Stop ends the load: nothing more is sent. Requests in flight go on.
	Stop()
	// Wait blocks until the load has ended, by itself or by Stop, and nothing is in flight, or until ctx ends.
	Wait(ctx context.Context) error
	// Cut cancels the requests in flight and waits for their ends.
	Cut()
	// Sync calls fn while no record is passed on. d says how much is read and waited for. fn must not call the Load.
	Sync(d Detail, fn func(s *State))
	// Failed is closed when failures call for the end of the load. Begin with Order.Clear makes another one.
	Failed() <-chan struct{}
	Close() error
}

// Order is a load, or a part of one such as its warm-up.
type Order struct {
	Level *result.Level `json:"level,omitempty"` // of tensors: its mode, its size and its stages
	Limit int           `json:"limit,omitempty"` // requests in all; 0 for no limit
	Seed  uint64        `json:"seed,omitempty"`
	Warm  bool          `json:"warm,omitempty"` // a warm-up
	// Phase is the load of prompts.
	Phase json.RawMessage `json:"phase,omitempty"`
	// Restart has the sources begin anew, and Clear forgets the failures until now. Nothing may be in flight.
	Restart bool `json:"restart,omitempty"`
	Clear   bool `json:"clear,omitempty"`
	// When, if set, is asked for the time of the start when everything is prepared.
	When func(ctx context.Context) (at int64, err error) `json:"-"`
	// Starts, if set, is told the time of the start before the first request is sent, with a reading, while no record is passed on.
	Starts func(at int64, s *State) `json:"-"`
}

// Collect receives the record of a request, with its responses where they are kept. They are valid until it returns.
type Collect func(r *record.Record, events []record.Event, data []byte)

// Open makes a Load that passes its records to collect.
type Open func(collect Collect) Load

// Detail is how much a Sync reads and waits for.
type Detail int

// The details, each with those before it.
const (
	// Glance reads what the load has counted. The records of a fleet may come later.
	Glance Detail = iota
	// Vitals also reads the vitals of this process.
	Vitals
	// Exact waits until the records of all requests that have ended until now are passed on.
	Exact
	// Flights lists the requests in flight. Those that are not listed were passed on, or were sent later.
	Flights
)

// State is a reading of a load.
type State struct {
	measure.State
	InFlight  int
	Working   bool  // a request is in flight or will yet be sent; false once failures have ended the load
	Scheduled int64 // when the schedule of the latest open loop began
	// Failures are the failed requests until now, in groups that keep their places. Workers are the first failures of each worker.
	Failures     []engine.Failure
	WorkerErrors []engine.WorkerError
	// Err is why the load cannot go on, other than failed requests; nil while it can.
	Err     error
	Flights []engine.Flight
}

// Stall is why the load was given up if the server gave no sign of life; else nil.
func (s *State) Stall() *engine.StallError {
	stall, _ := errors.AsType[*engine.StallError](s.Err)
	return stall
}

// Read takes a reading of a load.
func Read(l Load, d Detail) (out State) {
	l.Sync(d, func(s *State) { out = *s })
	return out
}

// Done is a level that was measured before, with the reasons why the client limited it.
type Done struct {
	Level  result.Level    `json:"level"`
	Limits []result.Reason `json:"limits,omitempty"`
}

// ErrInterrupted means that the user ended the run.
var ErrInterrupted = errors.New("interrupted")

// DrainTime is how long requests in flight may take to end after the first interrupt.
const DrainTime = 5 * time.Second

// Drain waits until nothing is in flight, and cancels the requests that take longer than limit, or than ctx.
func Drain(ctx context.Context, l Load, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if l.Wait(ctx) != nil {
		l.Cut()
	}
}
