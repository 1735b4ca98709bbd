package cli

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/plan"
)

// check applies the rules that need to know the model, in perf_analyzer's order and words.
func (s *session) check() error {
	t, load, m := &s.plan.Target, &s.plan.Load, s.model
	if s.plan.Input.Batch > 1 && m.MaxBatch == 0 && t.Kind != plan.DynamicGRPC { // that one finds out later
		return plainError("can not specify batch size > 1 as the model does not support batching")
	}
	if b := s.plan.Input.Batch; b > m.MaxBatch && m.MaxBatch > 0 && s.plan.Face == plan.Redline { // the original has the server refuse it
		return fmt.Errorf("-b %d is more than the %d that model %q takes in a request", b, m.MaxBatch, m.Name)
	}
	if s.plan.Input.Batch > 1 && m.Sequential() {
		return plainError("can not specify batch size > 1 when using a sequence model")
	}
	if err := s.kindRules(); err != nil {
		return err
	}
	s.async = t.Call == plan.Async || m.Sequential() && t.Call != plan.Sync
	if t.Streaming && t.Kind != plan.DynamicGRPC { // there every call is a stream
		if t.Call == plan.Sync {
			return plainError("can not use streaming with synchronous API")
		}
		s.async = true
	}
	if m.Decoupled && (!s.async || !t.Streaming) {
		return lineError("Decoupled models must be run with `--async` and `--streaming` and either `-i grpc` or `--service-kind=triton_c_api`")
	}
	if m.Sequential() && s.async && load.Mode == plan.Concurrency && load.Concurrency.End == 0 {
		return plainError("The 'end' concurrency can not be 0 for sequence models when using asynchronous API.")
	}
	if t.Kind == plan.DynamicGRPC && t.GRPCMethod == "" {
		s.warn("WARNING: no --grpc-method was given: the server refuses every call, and only that is measured.")
	}
	s.threadRules(load)
	return s.sequenceRules()
}

// kindRules are those of single service kinds. Of what these cannot do the original finds out with its first request.
func (s *session) kindRules() error {
	t := &s.plan.Target
	var err error
	switch {
	case t.Kind == plan.TorchServe && t.Call == plan.Async:
		err = plainError("client backend of kind TORCHSERVE does not support AsyncInfer API")
	case t.Kind == plan.DynamicGRPC && t.Streaming && s.plan.Face == plan.DropIn:
		err = plainError("DynamicGrpcClientBackend::StartStream is not supported.")
	}
	if s.plan.Face == plan.DropIn {
		s.noSteps, err = err, nil
	}
	return err
}

// dynamicRules are those of dynamic_grpc that come after the data was read.
func (s *session) dynamicRules(unscheduled bool) error {
	switch {
	case s.plan.Target.Kind == plan.DynamicGRPC && s.plan.Input.Batch > 1:
		return plainError("Dynamic gRPC does not support multi-batch at the moment.")
	case unscheduled:
		return plainError("unable to find data for input 'timestamp'.")
	}
	return nil
}

// threadRules settles how many threads the original would use; ours only needs the number for what it prints and
// for how much a synchronous rate mode may keep in flight.
func (s *session) threadRules(load *plan.Load) {
	if load.Mode != plan.Concurrency || s.async {
		return
	}
	switch most := max(load.Concurrency.Start, load.Concurrency.End); {
	case load.Concurrency.End == 0:
		s.warn("WARNING: The maximum attainable concurrency will be limited by max_threads specification.")
		load.Concurrency.End = load.MaxThreads
	case load.MaxThreadsSet && (load.MaxThreads < most || s.plan.Face == plan.DropIn): // the original warns whatever the number
		s.warn("WARNING: Overriding max_threads specification to ensure requested concurrency range.")
		load.MaxThreads = most
	}
}

// sequenceRules warns of ids that may be used twice; the original refuses them for every model.
func (s *session) sequenceRules() error {
	const tail = ", sequence id collision may occur."
	ids, load := s.plan.Input.SequenceIDRange, &s.plan.Load
	if s.plan.Input.SequenceStartID == 0 { // a range of our own choice is large enough
		return nil
	}
	if load.Mode == plan.Concurrency {
		if ids < uint64(max(load.Concurrency.Start, load.Concurrency.End)) {
			return plainError("sequence id range specified is smaller than the maximum possible concurrency" + tail)
		}
		return nil
	}
	if ids < uint64(s.plan.Input.Sequences) {
		return plainError("sequence id range specified is smaller than the maximum possible number of sequences" + tail)
	}
	return nil
}

func (s *session) warn(line string) { fmt.Fprintln(s.Stderr, line) }

// maxRate is a rate that no client on one machine can send, in requests a second. Preparing for it would take for ever.
const maxRate = 1e9

// checkLimits tells before the load starts that it cannot be made.
func (s *session) checkLimits() error {
	load := &s.plan.Load
	if load.Mode == plan.RequestRate {
		if rate := max(load.Rate.Start, load.Rate.End); rate > maxRate {
			return fmt.Errorf("--request-rate-range: %g requests a second cannot be sent; use at most %g", rate, float64(maxRate))
		}
	}
	if load.Mode != plan.Concurrency {
		return nil
	}
	return target.CheckConnections(&s.plan.Target, max(load.Concurrency.Start, load.Concurrency.End))
}
