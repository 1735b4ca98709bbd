// Package load drives the engine for language models: conversations of several turns, with or without a schedule.
//
// A run is a row of levels; a level is a warm-up and a measured phase. A job is one turn of a conversation. In a closed loop
// each slot of the engine has a worker, which keeps its conversation and sends turn after turn. In an open loop a dispatcher
// holds the schedule and gives each job with its due time to the engine's paced loop. The engine hands each record to read,
// which turns it into a sample for the metrics and for whoever writes files.
//
// What is in memory is bounded: conversations are drawn from their source as they are needed, and samples are dropped when
// they are counted.
package load

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
)

// Source gives conversations, one after the other; false at the end.
type Source interface {
	Next() (*llm.Conversation, bool)
	Err() error
	Close() error
}

// Config is what a level works with.
type Config struct {
	Service  service.Service
	Endpoint endpoint.Endpoint
	// Open starts the conversations anew, for each phase.
	Open func() (Source, error)
	// Count counts tokens by the tokenizer; nil where there is none. Counting says when it is used.
	Count    func(text string) int
	Counting Counting
	// ChatTemplate, when set, counts the input; it needs Count.
	ChatTemplate *endpoint.ChatTemplate
	// Rendered counts the prompt as the server should see it, to compare the server's count with; nil where that is not known.
	Rendered func(*endpoint.Request) (int, error)
	// Template returns what the server's chat template adds to a prompt, as far as that is known before a phase; it may be nil.
	Template func() llm.Template
	// KeepText hands samples on with their texts, KeepWire with their bytes.
	KeepText, KeepWire bool
	// RequestHeader names the header with an id of each request, SessionHeader that with one of its conversation;
	// empty sends none.
	RequestHeader, SessionHeader string
	// Bodies is told of the bodies of each conversation that the measurement asks for the first time, answers left
	// out. It is called on a goroutine of its own.
	Bodies func(session string, bodies [][]byte)
	// KeepBodies is for a Share: it passes the bodies of a conversation on with its first request.
	KeepBodies bool
	// Fleet, when set, opens the load of workers that make it in place of this process. Phase is what they get to know of a phase.
	Fleet run.Open
	Phase func(Order) any
	// Here: the server runs on this machine.
	Here    bool
	Options Options
	// Sample is called for each request that has ended, Progress several times a second. They are never called at the same
	// time.
	Sample   func(*llm.Sample)
	Progress func(Progress)
	// Measured, when set, is called when the warm-up is over and the measurement is about to begin.
	Measured func()
	// First and Watch, when set, look at the measurement while it runs, and end it.
	First measure.Look
	Watch measure.Watch
	// Tracing chooses the requests that carry the name of their span; those of warm-up and cool-down carry none. It may be nil.
	Tracing *traceid.Sampler
	// Tap is shown the record of every measured request; it may be nil.
	Tap func(*record.Record) error
}

// Options are how the load is made and measured.
type Options struct {
	Shape
	// Requests, Sessions and Duration end a level; 0 is no limit. Grace is how long requests may go on after Duration.
	Requests, Sessions int
	Duration, Grace    time.Duration
	// Warmup comes before, where one of its bounds is set.
	Warmup Warmup
	// ThinkTime is how long each slot of a closed loop waits between two requests, and between two turns at least.
	ThinkTime pace.ThinkTime
	// Cooldown is the end of Duration in which requests that start are not counted.
	Cooldown time.Duration
	// CancelShare of the requests are cut: after CancelDelay, or after CancelTokens as a share of the tokens asked for.
	CancelShare  float64
	CancelDelay  time.Duration
	CancelTokens float64
	// Timeout is the deadline of a request. Patience is how long the server may give no sign of life; 0 chooses, see the
	// engine.
	Timeout  time.Duration
	Patience time.Duration
	// MaxErrors ends a level at so many failures, MaxErrorShare at such a share of them; 0 is no limit.
	MaxErrors     int
	MaxErrorShare float64
	Until         *metric.Target
	Goodput       []metric.Objective
	Confidence    float64 // level of intervals; 0 computes none
	Seed          uint64
	// Segment is the part of the load that this process sends. Levels and bounds are those of the whole load.
	Segment segment.Segment
}

// Shape is how a load comes to its level, and what holds it.
type Shape struct {
	Arrival    Arrival
	Smoothness float64 // of gamma arrivals; 1 is Poisson
	// Ramp is how long the load takes to rise to its level.
	Ramp time.Duration
	// Prefill is how many requests may wait for their first token at once; 0 is no limit.
	Prefill int
}

// Warmup is the phase before the measurement. It counts nowhere.
type Warmup struct {
	Shape
	// Level is its load; one without a mode is that of the measurement.
	Level              Level
	Requests, Sessions int
	Duration, Grace    time.Duration
}

// Any tells whether there is one.
func (w *Warmup) Any() bool { return w.Requests > 0 || w.Sessions > 0 || w.Duration > 0 }

// Level is one load. One of its modes is set.
type Level struct {
	Mode        plan.Mode
	Concurrency int     // closed loop: sessions at once; otherwise the most in flight, 0 for no limit
	Rate        float64 // requests a second
	// Stages replace Rate, or Concurrency in closed loop, by levels that follow one another.
	Stages []pace.Stage
	// Users send at Rate all together, each at its own even pace.
	Users int
	// Prompts names what the level asks for if other levels differ in that.
	Prompts string
}

// Open tells whether requests follow a schedule.
func (l *Level) Open() bool { return l.Mode.Scheduled() }

// Progress is a look at a level under way.
type Progress struct {
	Level    *result.Level
	Warmup   bool
	Elapsed  time.Duration
	Requests uint64
	Wanted   uint64 // 0 where there is no limit
	Failed   uint64
	InFlight int
	Rate     float64 // answers a second
	Median   time.Duration
	// Tokens are the output tokens per second of the last seconds, FirstToken is the median time to the first token of the
	// latest requests; both are 0 if there are none.
	Tokens     float64
	FirstToken time.Duration
	// Live makes the level as it stands, for pages that draw it. It may be called only until Progress returns.
	Live func() *result.Level
	// Workers makes what each worker of a fleet has done in the phase; nil without a fleet. It may be called only until Progress returns.
	Workers func() []result.Worker
}

// Outcome is a level as it was measured.
type Outcome struct {
	Level     result.Level
	Collector *metric.Collector
	Reasons   []result.Reason // why the client, not the server, set its numbers
	// Stopped is what ended the level before its time: failures, an interrupt, an error of the source. It is empty
	// when it ended as asked.
	Stopped string
	// Interrupted: the user ended it. ServerGone: failed requests did.
	Interrupted bool
	ServerGone  bool
	// Template is what the server's chat template adds to a prompt, where input lengths were counted without it.
	Template llm.Template
	// Dropped are turns that were not asked because one before them failed.
	Dropped uint64
}

// Run carries one level out. When ctx ends nothing more is started and what is in flight may end within a moment; when
// hard ends it is cut.
func Run(ctx, hard context.Context, cfg Config, lv Level) (*Outcome, error) {
	r, err := newRun(hard, &cfg, lv)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if cfg.Options.Warmup.Any() {
		if err := r.phase(ctx, hard, newPhase(&cfg.Options, lv, true)); err != nil {
			return nil, err
		}
	}
	var out *Outcome
	if r.stop.text != "" { // the warm-up was stopped: its counts are not the level's
		r.eng.Sync(run.Glance, func(*run.State) {
			r.begin(r.now.Load(), r.now.Load().start)
			out = r.outcome(nil)
		})
		return out, nil
	}
	if err := r.phase(ctx, hard, newPhase(&cfg.Options, lv, false)); err != nil {
		return nil, err
	}
	r.eng.Sync(run.Glance, func(*run.State) { out = r.outcome(nil) })
	return out, nil
}
