package kserve

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// This file reads the JSON documents in which Triton describes itself: the same over HTTP and through its C API.

// ParseMetadata reads a model's metadata.
func ParseMetadata(v jsonscan.Value) (*Metadata, error) {
	m := &Metadata{Name: text(v, "name"), Platform: text(v, "platform"), Versions: list(v, "versions")}
	var ok [2]bool
	m.Inputs, ok[0] = tensors(v, "inputs")
	m.Outputs, ok[1] = tensors(v, "outputs")
	switch {
	case m.Name == "":
		return nil, errors.New("it has no name")
	case !ok[0]:
		return nil, errors.New("its inputs are not a list of tensors with name, datatype and shape")
	case !ok[1]:
		return nil, errors.New("its outputs are not a list of tensors with name, datatype and shape")
	}
	return m, nil
}

func tensors(v jsonscan.Value, name string) ([]TensorMetadata, bool) {
	a, found := v.Get(name)
	if !found || a.Kind() == jsonscan.Null { // the server does not state them
		return nil, true
	}
	if a.Kind() != jsonscan.Array {
		return nil, false
	}
	out := make([]TensorMetadata, 0, a.Len())
	for e := range a.Elements() {
		t := TensorMetadata{Name: text(e, "name"), Datatype: text(e, "datatype")}
		shape, _ := e.Get("shape")
		if t.Name == "" || t.Datatype == "" || shape.Kind() != jsonscan.Array {
			return nil, false
		}
		for d := range shape.Elements() {
			n, ok := integer(d)
			if !ok {
				return nil, false
			}
			t.Shape = append(t.Shape, n)
		}
		out = append(out, t)
	}
	return out, true
}

// ParseConfig reads a model's configuration.
func ParseConfig(v jsonscan.Value) (*Config, error) {
	c := &Config{Name: text(v, "name"), Platform: text(v, "platform")}
	batch, found := v.Get("max_batch_size")
	n, ok := integer(batch)
	if found && (!ok || n < 0 || n > math.MaxInt32) {
		return nil, errors.New("its max_batch_size is not a number of requests")
	}
	c.MaxBatch = int(n)
	c.Inputs, c.Outputs = parts(v, "input"), parts(v, "output")
	c.Sequence, c.Dynamic = object(v, "sequence_batching"), object(v, "dynamic_batching")
	dynamic, _ := v.Get("dynamic_batching")
	delay, _ := dynamic.Get("max_queue_delay_microseconds")
	us, _ := integer(delay)
	c.QueueDelay = QueueDelay(uint64(max(0, us)))
	sequence, _ := v.Get("sequence_batching")
	idle, _ := sequence.Get("max_sequence_idle_microseconds")
	us, _ = integer(idle)
	c.SequenceIdle = SequenceIdle(uint64(max(0, us)))
	controls, _ := sequence.Get("control_input")
	for in := range controls.Elements() {
		list, _ := in.Get("control")
		for e := range list.Elements() {
			if text(e, "kind") == "CONTROL_SEQUENCE_CORRID" {
				c.NumberIDs = text(e, "data_type") != "TYPE_STRING"
			}
		}
	}
	policy, _ := v.Get("model_transaction_policy")
	c.Decoupled = truth(policy, "decoupled")
	cache, _ := v.Get("response_cache")
	c.Cache = truth(cache, "enable")
	ensemble, _ := v.Get("ensemble_scheduling")
	steps, _ := ensemble.Get("step")
	for e := range steps.Elements() {
		step := Step{Model: text(e, "model_name"), Version: -1}
		if ver, found := e.Get("model_version"); found {
			if step.Version, ok = integer(ver); !ok {
				return nil, errors.New("an ensemble step has a model_version that is not a number")
			}
		}
		c.Steps = append(c.Steps, step)
	}
	return c, nil
}

// QueueDelay is a delay that a configuration gives in microseconds, a day at most.
func QueueDelay(us uint64) time.Duration {
	const day = uint64(24 * time.Hour / time.Microsecond)
	return time.Duration(min(us, day)) * time.Microsecond
}

// SequenceIdle is how long a server keeps an idle sequence, by its configuration in microseconds: 0 means a second.
func SequenceIdle(us uint64) time.Duration { return cmp.Or(QueueDelay(us), time.Second) }

func parts(v jsonscan.Value, name string) []TensorConfig {
	a, _ := v.Get(name)
	var out []TensorConfig
	for e := range a.Elements() {
		out = append(out, TensorConfig{
			Name: text(e, "name"), Optional: truth(e, "optional"), ShapeTensor: truth(e, "is_shape_tensor"),
		})
	}
	return out
}

// ParseExtensions reads from the server's metadata what it can do.
func ParseExtensions(v jsonscan.Value) []string { return list(v, "extensions") }

// ParseServer reads the server's metadata.
func ParseServer(v jsonscan.Value) (service.Server, error) {
	s := service.Server{Name: text(v, "name"), Version: text(v, "version"), Extensions: ParseExtensions(v)}
	if s.Name == "" {
		return s, errors.New("it has no name")
	}
	return s, nil
}

// ParseIndex reads the index of a model repository.
func ParseIndex(v jsonscan.Value) ([]service.ListedModel, error) {
	if v.Kind() != jsonscan.Array {
		return nil, errors.New("it is not a list")
	}
	var out []service.ListedModel
	for e := range v.Elements() {
		m := service.ListedModel{Name: text(e, "name"), Version: text(e, "version"), State: State(text(e, "state")), Reason: text(e, "reason")}
		if m.Name == "" {
			return nil, errors.New("a model has no name")
		}
		out = append(out, m)
	}
	return out, nil
}

// State is the state of a model. MLServer sends "State.READY" over gRPC.
func State(text string) string { return text[strings.LastIndexByte(text, '.')+1:] }

// ParseNames reads the list {"models": [NAME, ...]} of servers without a repository: these models are loaded.
func ParseNames(v jsonscan.Value) ([]service.ListedModel, error) {
	if names, _ := v.Get("models"); names.Kind() != jsonscan.Array {
		return nil, errors.New("it has no list of models")
	}
	var out []service.ListedModel
	for _, name := range list(v, "models") {
		out = append(out, service.ListedModel{Name: name, State: service.Ready})
	}
	return out, nil
}

// ParseStats reads the statistics of models.
func ParseStats(v jsonscan.Value) ([]service.ModelStats, error) {
	a, _ := v.Get("model_stats")
	if a.Kind() != jsonscan.Array {
		return nil, errors.New("it has no model_stats")
	}
	var out []service.ModelStats
	for e := range a.Elements() {
		p := statsReader{at: e}
		m := service.ModelStats{
			Name: text(e, "name"), Version: text(e, "version"),
			InferenceCount: p.count("inference_count"), ExecutionCount: p.count("execution_count"),
		}
		p.at, _ = e.Get("inference_stats")
		m.Success, m.Queue = p.tally("success"), p.tally("queue")
		m.ComputeInput, m.ComputeInfer, m.ComputeOutput = p.tally("compute_input"), p.tally("compute_infer"), p.tally("compute_output")
		if p.missing != "" {
			return nil, errors.New("the statistics of " + m.Name + " lack " + p.missing)
		}
		m.CacheHit, m.CacheMiss = p.tally("cache_hit"), p.tally("cache_miss") // servers before response caches have none
		out = append(out, m)
	}
	return out, nil
}

// statsReader reads members of one object and remembers the first that is missing.
type statsReader struct {
	at      jsonscan.Value
	missing string
}

func (p *statsReader) count(name string) uint64 {
	v, _ := p.at.Get(name)
	n, ok := v.Uint64()
	if v.Kind() == jsonscan.String {
		u, err := strconv.ParseUint(string(v.AppendText(nil)), 10, 64)
		n, ok = u, err == nil
	}
	if !ok && p.missing == "" {
		p.missing = name
	}
	return n
}

func (p *statsReader) tally(name string) service.Tally {
	v, _ := p.at.Get(name)
	in := statsReader{at: v}
	t := service.Tally{Count: in.count("count"), Ns: in.count("ns")}
	if in.missing != "" && p.missing == "" {
		p.missing = name + "." + in.missing
	}
	return t
}

func text(v jsonscan.Value, name string) string {
	m, _ := v.Get(name)
	return string(m.AppendText(nil))
}

func truth(v jsonscan.Value, name string) bool {
	m, _ := v.Get(name)
	return m.True()
}

// object tells whether there is such a member: an empty one says as much as a full one.
func object(v jsonscan.Value, name string) bool {
	m, _ := v.Get(name)
	return m.Kind() == jsonscan.Object
}

func list(v jsonscan.Value, name string) []string {
	a, _ := v.Get(name)
	var out []string
	for e := range a.Elements() {
		out = append(out, string(e.AppendText(nil)))
	}
	return out
}

// integer reads a whole number, which JSON made from protocol buffers may also write as a string.
func integer(v jsonscan.Value) (int64, bool) {
	if v.Kind() == jsonscan.String {
		n, err := strconv.ParseInt(string(v.AppendText(nil)), 10, 64)
		return n, err == nil
	}
	return v.Int64()
}
