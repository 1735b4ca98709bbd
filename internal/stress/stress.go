// Package stress sends sequences to a model that keeps a running sum, and checks every response.
//
// Threads draw patterns from a seed: valid sequences, sequences without END, sequences without START, two sequences with one
// correlation id. Each thread has contexts; a context has a correlation id and a slot of the engine, so that over gRPC every
// context has its own stream and does not wait for others. The seed and the options alone determine what a thread sends
// (generate.go). line.go passes the requests to the engine, and judge.go compares the responses with the expected sums. A failure
// has the whole history of its sequence, and the command that sends it again.
//
// The patterns, their weights and the meaning of a seed are those of sequence_stress.py in Triton's QA. See docs/stress.md.
package stress

import (
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/plan"
)

// Plan is a run as one checked value. Parse makes it from a command line, and nothing below reads an option.
type Plan struct {
	*plan.Plan `json:"-"` // the server, the files and what becomes of the result
	Server     Address    `json:"server"`         // Target.URL, parsed
	Unary      bool       `json:"unary,omitzero"` // gRPC: one call per request instead of streams
	Seed       uint32     `json:"seed"`
	Threads    int        `json:"threads"`
	// Iterations is the number of patterns a thread sends; Duration ends the run by time. Whichever comes first.
	Iterations int           `json:"iterations"`
	Duration   time.Duration `json:"duration_ns,omitzero"`

	Common      int           `json:"common_contexts"` // contexts of a thread
	Rare        int           `json:"rare_contexts"`
	RareShare   float64       `json:"rare"`    // of iterations that use a rare context
	Weights     Weights       `json:"weights"` // of patterns in common contexts
	RareWeights Weights       `json:"rare_weights"`
	LengthMean  float64       `json:"length_mean"`
	LengthDev   float64       `json:"length_deviation"`
	Values      int           `json:"values"` // values are below this
	FirstID     int           `json:"first_id"`
	IDBlock     int           `json:"id_block"` // correlation ids of a thread
	StringIDs   bool          `json:"string_ids,omitzero"`
	Timeout     time.Duration `json:"timeout_ns"`

	BackToBack bool          `json:"back_to_back,omitzero"` // the second sequence of a pattern does not wait for the responses to the first
	Overlap    int           `json:"overlap"`               // sequences of a thread at a time
	IdleTime   time.Duration `json:"idle_time_ns"`          // pause of the idle pattern, longer than the server waits
	CutEvery   time.Duration `json:"cut_ns,omitzero"`       // a connection is cut this often
	Chaos      time.Duration `json:"chaos_ns,omitzero"`     // the model is unloaded this often
	ChaosDown  time.Duration `json:"chaos_down_ns"`         // time between unloading and loading
	Disturbed  bool          `json:"disturbed,omitzero"`    // another program disturbs the server

	MaxFailures int    `json:"max_failures"`
	Replay      string `json:"replay,omitzero"` // THREAD:ITERATION[,ITERATION...]
	// Arguments are the model, the options of the command line without secrets, and the seed.
	Arguments []string `json:"-"`
}

// Defaults are those of sequence_stress.py. The address of the server is empty: it follows from the protocol.
func Defaults() *Plan {
	d := plan.Default()
	d.Target.Model, d.Target.Protocol, d.Target.URL, d.Target.Call = "custom_sequence_int32", plan.GRPC, "", plan.Async
	return &Plan{
		Plan: &d, Threads: 8, Iterations: 200,
		Common: 2, Rare: 8, RareShare: 0.1,
		Weights:     Weights{NoStart: 1, NoEnd: 4, ValidNoEnd: 5, ValidValid: 5, Valid: 85},
		RareWeights: Weights{NoEnd: 33, ValidNoEnd: 33, ValidValid: 34},
		LengthMean:  16, LengthDev: 8, Values: 1 << 20, FirstID: 1, IDBlock: 100, Timeout: 5 * time.Second,
		Overlap: 1, IdleTime: 2 * time.Second, ChaosDown: 200 * time.Millisecond, MaxFailures: 10,
	}
}

// Contexts is how many contexts a thread has.
func (p *Plan) Contexts() int { return p.Common + p.Rare }

// Disturbs reports whether requests may fail because of disturbances, not because of the server.
func (p *Plan) Disturbs() bool { return p.CutEvery > 0 || p.Chaos > 0 || p.Disturbed }

// ID is the correlation id of a context.
func (p *Plan) ID(thread, context int) int { return p.FirstID + thread*p.IDBlock + context }

// name is a correlation id in its printed form, which is also sent if ids are text.
func (p *Plan) name(id int) string {
	if p.StringIDs {
		return "sequence-" + strconv.Itoa(id)
	}
	return strconv.Itoa(id)
}
