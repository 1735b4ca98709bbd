// Package backend holds the programs that models run: identity, sum and difference, an accumulator, a repeater, a paced
// mock of a language model. A backend receives a batch of jobs and responds to each; it knows neither protocols nor queues.
//
// An Instance is one copy of a model. The scheduler runs an instance for one batch at a time.
package backend

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/tensor"
)

// Instance executes batches.
type Instance interface {
	// Execute responds to every job: with exactly one Send or Fail or, for a decoupled model, any number of Sends and an End.
	// A decoupled job may end after Execute has returned.
	Execute(ctx context.Context, jobs []*Job)
}

// Job is one request that a backend executes.
type Job struct {
	*infer.Request
	// Answer receives the backend's responses. The scheduler sets it.
	Answer func(outputs []tensor.Tensor, err error, end bool)
}

// Send answers with outputs.
func (j *Job) Send(outputs ...tensor.Tensor) { j.Answer(outputs, nil, false) }

// Fail ends the job with an error.
func (j *Job) Fail(err error) { j.Answer(nil, err, true) }

// Finish answers with the last outputs of a decoupled job.
func (j *Job) Finish(outputs ...tensor.Tensor) { j.Answer(outputs, nil, true) }

// End says that a decoupled job has no more responses.
func (j *Job) End() { j.Answer(nil, nil, true) }

// Env is what backends need from the server.
type Env struct {
	Clock *pause.Clock
	Seed  uint64
	Pace  pause.Tokens // of language models that do not set their own
	// Hold is the time from a request to its last response, for a blank model that is decoupled.
	Hold time.Duration
	// Instances is the number of instances of the model.
	Instances int
}

// one makes an instance that responds to one job after the other.
func one(f func(cfg *kserve.ModelConfig) func(*Job)) constructor {
	return func(cfg *kserve.ModelConfig, par params, env Env) (Instance, error) {
		lat, err := newLatency(par, env)
		return &each{lat, f(cfg)}, err
	}
}

type constructor = func(cfg *kserve.ModelConfig, par params, env Env) (Instance, error)

func backends() map[string]constructor {
	return map[string]constructor{
		"identity": one(identity), "delay": one(identity), "add_sub": one(addSub), "accumulate": one(accumulate), "sequence": one(sequence), "blank": newBlank,
		"tokenize":   one(func(*kserve.ModelConfig) func(*Job) { return tokenize }),
		"detokenize": one(func(*kserve.ModelConfig) func(*Job) { return detokenize }),
		"repeat":     func(_ *kserve.ModelConfig, _ params, env Env) (Instance, error) { return &repeat{env: env}, nil },
		"mock_llm":   newMockLLM,
		"fault": func(cfg *kserve.ModelConfig, par params, env Env) (Instance, error) {
			every := par.integer("fail_every", 10)
			if env.Instances <= par.integer("fail_above", 0) {
				every = 0
			}
			lat, err := newLatency(par, env)
			return &each{lat, fault(cfg, every)}, err
		},
	}
}

// Names are the backends that New knows.
func Names() []string { return slices.Sorted(maps.Keys(backends())) }

// New makes an instance of the named backend for a model.
func New(name string, cfg *kserve.ModelConfig, env Env) (Instance, error) {
	if f := backends()[name]; f != nil {
		return f(cfg, cfg.GetParameters(), env)
	}
	return nil, infer.Errorf(infer.InvalidArg, "unable to find backend '%s' for model '%s'; the built-in ones are %v", name, cfg.GetName(), Names())
}

// each is an instance that responds to one job after the other, when the time of the whole batch has passed.
type each struct {
	latency latency
	one     func(j *Job)
}

func (b *each) Execute(ctx context.Context, jobs []*Job) {
	b.latency.spend(ctx, time.Now(), jobs)
	for _, j := range jobs {
		b.one(j)
	}
}

// params reads a model's free parameters.
type params map[string]*kserve.ModelParameter

func (p params) text(name, or string) string {
	if v, ok := p[name]; ok {
		return v.GetStringValue()
	}
	return or
}

func (p params) integer(name string, or int) int {
	if n, err := strconv.Atoi(p.text(name, "")); err == nil {
		return n
	}
	return or
}

func (p params) millis(name string, or time.Duration) time.Duration {
	return time.Duration(p.number(name, float64(or)/float64(time.Millisecond)) * float64(time.Millisecond))
}

func (p params) number(name string, or float64) float64 {
	if f, err := strconv.ParseFloat(p.text(name, ""), 64); err == nil {
		return f
	}
	return or
}

// shaped gives a tensor for an output of the model: the shape is the request's batch and the given dims.
func shaped(r *infer.Request, name string, t tensor.Datatype, data []byte, dims ...int64) tensor.Tensor {
	shape := make(tensor.Shape, 0, len(dims)+1)
	if r.Batch > 0 {
		shape = append(shape, int64(r.Batch))
	}
	return tensor.Tensor{Name: name, Type: t, Shape: append(shape, dims...), Data: data}
}
