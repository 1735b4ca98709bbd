package traffic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Check applies the rules that need to know the model. It settles whether requests are sent without waiting for the response, and
// the number of threads.
func (s *Traffic) Check() error {
	p, m := s.Plan, s.Model
	if err := batchRules(p, m); err != nil {
		return err
	}
	if err := shapeRule(p, m); err != nil {
		return err
	}
	t, load, row := &p.Target, &p.Load, kind.Of(p.Target.Kind)
	s.Async = t.Call == plan.Async || m.Sequential() && t.Call != plan.Sync || t.Streaming && !row.Streams
	switch {
	case row.Synchronous && t.Call == plan.Async:
		return fmt.Errorf("--service-kind %s takes no --async: leave it out", t.Kind)
	case row.HTTPStreams && t.Streaming && t.Protocol == plan.HTTP && !m.Unconfigured:
		return errors.New("--streaming needs gRPC: add -i grpc")
	case t.Streaming && !row.Streams && t.Call == plan.Sync:
		return errors.New("--streaming and --sync exclude each other: leave one out")
	case m.Decoupled && (!s.Async || !t.Streaming):
		return fmt.Errorf("model %q sends any number of responses to a request: add --async --streaming -i grpc", m.Name)
	case m.Sequential() && s.Async && load.Mode == plan.Concurrency && load.Concurrency.End == 0:
		return fmt.Errorf("--concurrency-range needs an end, as in 1:64: model %q keeps state between requests", m.Name)
	case p.Input.SharedMemory != plan.NoSharedMemory && !row.SharedMemory:
		return fmt.Errorf("--shared-memory needs a Triton server; service kind %s has none", row.Name)
	case row.Method && t.GRPCMethod == "":
		s.Warn("warning: no --grpc-method was given: the server refuses every call, and only that is measured")
	}
	if load.Mode == plan.Concurrency && !s.Async {
		s.settleThreads()
	}
	return sequenceRules(p)
}

// batchRules are those about the size of a batch.
func batchRules(p *plan.Plan, m *service.Model) error {
	switch b := p.Input.Batch; {
	case b > 1 && m.MaxBatch == 0:
		return fmt.Errorf("-b %d: model %q takes one item in a request: leave -b out", b, m.Name)
	case b > m.MaxBatch && m.MaxBatch > 0 && !p.Policies.LeaveToServer:
		return fmt.Errorf("-b %d is more than the %d that model %q takes in a request", b, m.MaxBatch, m.Name)
	case b > 1 && m.Sequential():
		return fmt.Errorf("-b %d: model %q keeps state between requests, which have one item each: leave -b out", b, m.Name)
	}
	return nil
}

// shapeRule refuses the shape of an input that the model does not have, or has otherwise.
func shapeRule(p *plan.Plan, m *service.Model) error {
	if p.Policies.LeaveToServer || len(m.Inputs) == 0 {
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

// settleThreads bounds a search without an end by the number of threads, and raises that to the concurrency asked for. Redline needs
// it only for how much a synchronous rate mode may keep in flight.
func (s *Traffic) settleThreads() {
	load := &s.Plan.Load
	switch most := max(load.Concurrency.Start, load.Concurrency.End); {
	case load.Concurrency.End == 0:
		s.Warn(fmt.Sprintf("warning: the search ends at concurrency %d: raise --max-threads, or use --async", load.MaxThreads))
		s.Plan = s.Plan.With(func(p *plan.Plan) { p.Load.Concurrency.End = load.MaxThreads })
	case load.MaxThreadsSet && load.MaxThreads < most:
		s.Warn(fmt.Sprintf("warning: --max-threads %d is less than the concurrency %d, and is raised to it", load.MaxThreads, most))
		s.Plan = s.Plan.With(func(p *plan.Plan) { p.Load.MaxThreads = most })
	}
}

// sequenceRules refuses a range of ids in which two sequences would get the same one.
func sequenceRules(p *plan.Plan) error {
	ids, load := p.Input.SequenceIDRange, &p.Load
	switch {
	case p.Input.SequenceStartID == 0: // a range of our own choice is large enough
	case load.Mode == plan.Concurrency && ids < uint64(max(load.Concurrency.Start, load.Concurrency.End)):
		return errors.New("--sequence-id-range has fewer ids than the highest concurrency: give a larger range")
	case load.Mode != plan.Concurrency && ids < uint64(p.Input.Sequences):
		return errors.New("--sequence-id-range has fewer ids than --num-of-sequences: give a larger range")
	}
	return nil
}

// OneLevel refuses several levels for a run of several processes.
func OneLevel(load *plan.Load) error {
	switch {
	case load.Mode == plan.RequestRate && (load.Rate.End != 1 || load.Rate.Step != 1):
		return errors.New("--request-rate-range with --enable-mpi takes one level: leave it out")
	case load.Mode == plan.Concurrency && (load.Concurrency.End != 1 || load.Concurrency.Step != 1):
		return errors.New("--concurrency-range with --enable-mpi takes one level: leave it out")
	}
	return nil
}
