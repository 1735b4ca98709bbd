// Package class is the contract between `redline run` and the commands whose runs can be traffic classes of a scenario.
package class

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/watch"
)

// Class is one kind of traffic of a scenario: a run of a command beside others, without files of its own.
type Class interface {
	// Options are the options of the class without secrets, such as "--concurrency=4".
	Options() []string
	// Sample has every number that a rule about the class can be about.
	Sample() *gate.Sample
	// Prepare does everything up to the first request: it asks the server for the model, and makes the requests. tracing chooses
	// the requests that are traced; nil chooses none.
	Prepare(tracing *traceid.Sampler) error
	// Server is what is read of the server besides. It comes after Prepare.
	Server() outcome.Server
	// FirstRequest is the first request as it would go on the wire. It comes after Prepare, and sends nothing.
	FirstRequest(ctx context.Context) ([]byte, error)
	// Measure sends the load and measures it. The result has the levels, the verdict and the plan of the class.
	Measure(t Together) Outcome
	Close()
}

// Together is what a class shares with the others.
type Together struct {
	Name string // of the class
	// Ready is called when the warm-up is over. It returns when all classes are ready, or when ctx ends.
	Ready func(ctx context.Context) error
	// Tap returns the function that is shown the record of every measured request. fromSend: the latency of an open loop counts
	// from the send time, not from the due time.
	Tap func(fromSend bool) func(lv *result.Level, window int, r *record.Record) error
	// Responses is shown every measured response of a language model; nil where nothing counts them.
	Responses func(lv *result.Level, r *telemetry.Response)
	// LevelEnds adds the server's metrics to a level that is over; nil for a class beside others: their levels have one time together.
	LevelEnds func(lv *result.Level)
	// Progress is called several times a second.
	Progress func(p Progress)
	// Watch reads the metrics of the servers; nil where none are read.
	Watch *watch.Watch
}

// Progress is a look at a class under way.
type Progress struct {
	Level            *result.Level
	Warmup           bool
	Elapsed          time.Duration
	Requests, Failed uint64
	InFlight         int
	Rate             float64 // answers a second
}

// Outcome is a class that has ended.
type Outcome struct {
	Result *result.Result
	// Code is the exit code that a run of this class alone has. Err is why it failed, in one line; nil where it did not.
	Code int
	Err  error
}
