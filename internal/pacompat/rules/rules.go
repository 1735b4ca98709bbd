// Package rules are perf_analyzer's rules about a plan and the model that it loads, with the errors in its words.
package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/pacompat/kinds"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Settled is what the rules settle of a run.
type Settled struct {
	Plan  *plan.Plan // with the number of threads
	Async bool       // requests are sent without waiting for the response
	// NoSteps is why the load of perf_analyzer mode has nothing to send: it finds out with its first request.
	NoSteps error
}

// Protocol refuses gRPC for kinds that do not have it.
func Protocol(p *plan.Plan) error {
	t := &p.Target
	sentence := kinds.Of(t.Kind).NoGRPC
	switch {
	case t.Protocol != plan.GRPC || sentence == "":
		return nil
	case p.Program == plan.PerfAnalyzer:
		return &StartError{What: "failed to create triton client backend", Err: errors.New(sentence)}
	}
	return fmt.Errorf("-i grpc: a server of the kind %s has no gRPC; use -i http", t.Kind)
}

// Check applies the rules that need to know the model, in perf_analyzer's order and words.
func Check(p *plan.Plan, m *service.Model, warn func(line string)) (s Settled, err error) {
	t, load := &p.Target, &p.Load
	s.Plan = p
	row := kind.Of(t.Kind)
	if p.Input.Batch > 1 && m.MaxBatch == 0 && kinds.Of(t.Kind).NoBatch == "" { // else AfterData refuses it
		return s, worded(p, "can not specify batch size > 1 as the model does not support batching", fmt.Sprintf("-b %d: model %q takes one item in a request: leave -b out", p.Input.Batch, m.Name))
	}
	if b := p.Input.Batch; b > m.MaxBatch && m.MaxBatch > 0 && p.Program == plan.Redline { // perf_analyzer lets the server refuse it
		return s, fmt.Errorf("-b %d is more than the %d that model %q takes in a request", b, m.MaxBatch, m.Name)
	}
	if err := shapeRule(p, m); err != nil {
		return s, err
	}
	if p.Input.Batch > 1 && m.Sequential() {
		return s, worded(p, "can not specify batch size > 1 when using a sequence model", fmt.Sprintf("-b %d: model %q keeps state between requests, which have one item each: leave -b out", p.Input.Batch, m.Name))
	}
	if s.NoSteps, err = kindRules(p, row); err != nil {
		return s, err
	}
	if row.HTTPStreams && t.Streaming && t.Protocol == plan.HTTP && !m.Unconfigured {
		return s, errors.New("--streaming needs gRPC: add -i grpc")
	}
	s.Async = t.Call == plan.Async || m.Sequential() && t.Call != plan.Sync
	if t.Streaming && !row.Streams {
		if t.Call == plan.Sync {
			return s, worded(p, "can not use streaming with synchronous API", "--streaming and --sync exclude each other: leave one out")
		}
		s.Async = true
	}
	if m.Decoupled && (!s.Async || !t.Streaming) {
		if p.Program == plan.Redline {
			return s, fmt.Errorf("model %q sends any number of responses to a request: add --async --streaming -i grpc", m.Name)
		}
		return s, LineError("Decoupled models must be run with `--async` and `--streaming` and either `-i grpc` or `--service-kind=triton_c_api`")
	}
	if m.Sequential() && s.Async && load.Mode == plan.Concurrency && load.Concurrency.End == 0 {
		return s, worded(p, "The 'end' concurrency can not be 0 for sequence models when using asynchronous API.", fmt.Sprintf("--concurrency-range needs an end, as in 1:64: model %q keeps state between requests", m.Name))
	}
	if row.Method && t.GRPCMethod == "" {
		warn("WARNING: no --grpc-method was given: the server refuses every call, and only that is measured.")
	}
	if load.Mode == plan.Concurrency && !s.Async {
		s.Plan = threadRules(p, warn)
	}
	return s, sequenceRules(s.Plan)
}

// shapeRule refuses the shape of an input that the model does not have, or has otherwise. perf_analyzer ignores it.
func shapeRule(p *plan.Plan, m *service.Model) error {
	if p.Program == plan.PerfAnalyzer || len(m.Inputs) == 0 {
		return nil
	}
	names := convert.All(m.Inputs, func(in service.TensorSpec) string { return in.Name })
	for _, name := range slices.Sorted(maps.Keys(p.Input.Shapes)) {
		in, ok := m.Input(name)
		t, typed := p.Input.Datatypes[name]
		switch {
		case !ok:
			return fmt.Errorf("--shape %s: model %q has no such input; it has %s", name, m.Name, strings.Join(names, ", "))
		case typed && t != in.Type:
			return fmt.Errorf("--shape %s:%s: the datatype of input %s of model %q is %s", name, t, name, m.Name, in.Type)
		case p.Input.Shapes[name][0] == -1 && !m.Unconfigured:
			return fmt.Errorf("--shape %s: the server's configuration has the batch dimension of model %q: leave the -1 out, and set it with -b", name, m.Name)
		}
	}
	return nil
}

// kindRules are those of single service kinds. In perf_analyzer mode the first request finds out what a kind cannot do.
func kindRules(p *plan.Plan, row *kind.Row) (noSteps, err error) {
	t, words := &p.Target, kinds.Of(p.Target.Kind)
	switch {
	case row.Synchronous && t.Call == plan.Async:
		err = worded(p, "client backend of kind "+words.Name+" does not support AsyncInfer API", fmt.Sprintf("--service-kind %s takes no --async: leave it out", t.Kind))
	case words.NoStreaming != "" && t.Streaming && p.Program == plan.PerfAnalyzer:
		err = PlainError(words.NoStreaming)
	}
	if p.Program == plan.PerfAnalyzer {
		return err, nil
	}
	return nil, err
}

// threadRules settles how many threads perf_analyzer would use. Redline needs the number only for what it prints and
// for how much a synchronous rate mode may keep in flight.
func threadRules(p *plan.Plan, warn func(string)) *plan.Plan {
	load := &p.Load
	switch most := max(load.Concurrency.Start, load.Concurrency.End); {
	case load.Concurrency.End == 0 && p.Program == plan.Redline:
		warn(fmt.Sprintf("redline profile: the search ends at concurrency %d: raise --max-threads, or use --async", load.MaxThreads))
		return p.With(func(p *plan.Plan) { p.Load.Concurrency.End = load.MaxThreads })
	case load.Concurrency.End == 0:
		warn("WARNING: The maximum attainable concurrency will be limited by max_threads specification.")
		return p.With(func(p *plan.Plan) { p.Load.Concurrency.End = load.MaxThreads })
	case load.MaxThreadsSet && load.MaxThreads < most && p.Program == plan.Redline:
		warn(fmt.Sprintf("redline profile: --max-threads %d is less than the concurrency %d, and is raised to it", load.MaxThreads, most))
		return p.With(func(p *plan.Plan) { p.Load.MaxThreads = most })
	case load.MaxThreadsSet && p.Program == plan.PerfAnalyzer: // perf_analyzer warns for any number
		warn("WARNING: Overriding max_threads specification to ensure requested concurrency range.")
		return p.With(func(p *plan.Plan) { p.Load.MaxThreads = most })
	}
	return p
}

// sequenceRules warns of ids that may be used twice; perf_analyzer refuses them for every model.
func sequenceRules(p *plan.Plan) error {
	const tail = ", sequence id collision may occur."
	ids, load := p.Input.SequenceIDRange, &p.Load
	if p.Input.SequenceStartID == 0 { // a range of our own choice is large enough
		return nil
	}
	if load.Mode == plan.Concurrency {
		if ids < uint64(max(load.Concurrency.Start, load.Concurrency.End)) {
			return worded(p, "sequence id range specified is smaller than the maximum possible concurrency"+tail,
				"--sequence-id-range has fewer ids than the highest concurrency: give a larger range")
		}
		return nil
	}
	if ids < uint64(p.Input.Sequences) {
		return worded(p, "sequence id range specified is smaller than the maximum possible number of sequences"+tail,
			"--sequence-id-range has fewer ids than --num-of-sequences: give a larger range")
	}
	return nil
}

// AfterData are the rules that come after the input data was read. unscheduled: perf_analyzer cannot follow the schedule.
func AfterData(p *plan.Plan, unscheduled bool) error {
	switch why := kinds.Of(p.Target.Kind).NoBatch; {
	case why != "" && p.Input.Batch > 1:
		return worded(p, why, fmt.Sprintf("--service-kind %s takes no -b above 1: leave it out", p.Target.Kind))
	case unscheduled:
		return PlainError("unable to find data for input 'timestamp'.") // only in perf_analyzer mode
	}
	return nil
}

// NoSharing refuses shared memory for the kinds of server that have none.
func NoSharing(p *plan.Plan) error {
	row := kind.Of(p.Target.Kind)
	switch {
	case p.Input.SharedMemory == plan.NoSharedMemory, row.SharedMemory:
		return nil
	case p.Program == plan.Redline:
		return fmt.Errorf("--shared-memory needs a Triton server; service kind %s has none", row.Name)
	}
	return fmt.Errorf("client backend of kind %s does not support CreateSharedMemoryRegion()\n\nUnable to unregister all shared memory regions", kinds.Of(p.Target.Kind).Name)
}

// Ranks are the rules of a run of several processes: perf_analyzer measures one level then.
func Ranks(p *plan.Plan) error {
	const ours = " with --enable-mpi takes one level: leave it out"
	switch load := &p.Load; {
	case load.Mode == plan.RequestRate && (load.Rate.End != 1 || load.Rate.Step != 1):
		return worded(p, "Cannot specify --request-rate-range when in multi-model mode.", "--request-rate-range"+ours)
	case load.Mode == plan.Concurrency && (load.Concurrency.End != 1 || load.Concurrency.Step != 1):
		return worded(p, "Cannot specify --concurrency-range when in multi-model mode.", "--concurrency-range"+ours)
	}
	return nil
}
