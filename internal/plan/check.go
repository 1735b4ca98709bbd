package plan

import (
	"errors"
	"fmt"
	"slices"
)

// New returns a draft as a plan, or all its faults. Nothing changes a plan afterwards: With makes another one.
func New(draft Plan) (*Plan, error) {
	var f Faults
	f.target(&draft.Target)
	f.load(&draft.Load)
	f.ranges(&draft.Load, draft.Measure.LatencyLimit > 0)
	f.unless(draft.Load.Mode != PeriodicConcurrency || draft.Output.Export != "", "output.export is missing: a periodic load has no other report")
	f.unless(draft.Segment.Valid(), "segment is %v: the number of a part is from 1 to the number of parts", draft.Segment)
	f.unless(draft.Segment.Whole() || !draft.Policies.PerThread && !draft.Load.MPI, "segment cannot be used with policies.per_thread and load.mpi")
	f.input(&draft.Input)
	f.measure(&draft.Measure)
	oneOf(&f, "outcome.progress", draft.Outcome.Progress, "", "auto", "tui", "json", "none")
	f.unless(draft.Outcome.MaxRegression >= 0, "outcome.max_regression is below 0")
	f.unless(draft.Verbose >= 0 && draft.Verbose <= 2, "verbose is %d, not 0, 1 or 2", draft.Verbose)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return &draft, nil
}

// With is a plan that differs from p in what edit sets. edit replaces slices and maps as a whole.
func (p *Plan) With(edit func(*Plan)) *Plan {
	c := *p
	edit(&c)
	return &c
}

// Faults are what is wrong with a draft. Those of a Plan name fields as JSON has them.
type Faults []error

// When adds a fault where bad is true.
func (f *Faults) When(bad bool, format string, args ...any) {
	if bad {
		*f = append(*f, fmt.Errorf(format, args...))
	}
}

// unless adds a fault where ok is false.
func (f *Faults) unless(ok bool, format string, args ...any) { f.When(!ok, format, args...) }

// Add adds a fault; nil is none.
func (f *Faults) Add(err error) {
	if err != nil {
		*f = append(*f, err)
	}
}

// Err has all faults, one a line; it is nil where there is none.
func (f *Faults) Err() error { return errors.Join(*f...) }

// least adds a fault where a number is too small.
func least[T int | int64 | float64](f *Faults, field string, v, bound T) {
	f.unless(v >= bound, "%s is %v, and must be at least %v", field, v, bound)
}

// oneOf adds a fault where a word is none of those that a field takes.
func oneOf[T ~string](f *Faults, field string, v T, words ...T) {
	f.unless(slices.Contains(words, v), "%s is %q, and must be one of %q", field, v, words)
}

func (f *Faults) target(t *Target) {
	f.unless(t.Kind != "", "target.kind is missing")
	oneOf(f, "target.protocol", t.Protocol, HTTP, GRPC, "")
	f.unless(!t.Streaming || t.Protocol != HTTP || t.Kind == Triton, "target.streaming needs gRPC")
	oneOf(f, "target.call", t.Call, Auto, Sync, Async)
	oneOf(f, "target.http_version", t.HTTPVersion, "", "1.1", "2")
	oneOf(f, "target.compression", t.Compression, "", "none", "gzip", "deflate")
	oneOf(f, "target.tls.cert_type", t.TLS.CertType, "", "PEM", "DER")
	oneOf(f, "target.tls.key_type", t.TLS.KeyType, "", "PEM", "DER")
	for _, p := range t.Parameters {
		oneOf(f, "the type of the request parameter "+p.Name, p.Type, "string", "int", "bool")
	}
	f.unless(!t.Metrics.Collect || t.Metrics.Interval > 0, "target.metrics.interval must be more than 0s")
	f.unless(t.Timeout > 0, "target.timeout must be more than 0s")
	least(f, "target.connections", t.Connections, 0)
	f.unless(t.MaxResponse >= 0 && t.MaxResponse <= MostResponse, "target.max_response_bytes is %d, and must be from 0 to %d", t.MaxResponse, int64(MostResponse))
	f.unless(t.Embedded || len(t.EmbeddedArgs) == 0, "target.embedded_args needs target.embedded")
}

func (f *Faults) load(l *Load) {
	oneOf(f, "load.mode", l.Mode, Concurrency, RequestRate, CustomIntervals, PeriodicConcurrency, SessionConcurrency, FixedSchedule)
	oneOf(f, "load.search", l.Search, Linear, Binary, Single)
	oneOf(f, "load.distribution", l.Distribution, Constant, Poisson)
	least(f, "load.max_threads", l.MaxThreads, 1)
	f.unless(l.Mode != CustomIntervals || l.Intervals != "", "load.intervals_file is missing")
	f.unless(l.Mode != SessionConcurrency || l.Sessions > 0, "load.sessions must be at least 1")
	f.unless(l.ThinkTime.Mean == 0 || l.Mode == Concurrency, "load.think_time needs a closed loop")
	f.unless(len(l.Stages) == 0 || l.Mode == RequestRate && l.Search == Single, "load.stages needs the mode %s and the search %s", RequestRate, Single)
}

// ranges checks the levels of a load; limited: a latency limit can end the search.
func (f *Faults) ranges(l *Load, limited bool) {
	c, r := l.Concurrency, l.Rate
	least(f, "load.concurrency.start", c.Start, 1)
	f.unless(c.End >= 0 && c.Step >= 0, "load.concurrency has a negative number")
	f.unless(r.Start > 0, "load.rate.start is %g, and must be more than 0", r.Start)
	switch {
	case l.Mode == PeriodicConcurrency:
		p := l.Periodic
		f.unless(p.Step > 0 && p.Start <= p.End && (p.End-p.Start)%max(p.Step, 1) == 0, "load.periodic: steps of %d do not lead from %d to %d", p.Step, p.Start, p.End)
		least(f, "load.request_period", l.Period, 1)
	case l.Search == Binary:
		f.unless(limited && c.End >= c.Start && r.End >= r.Start, "load.search is binary, which needs a latency limit and ranges with an end")
	case l.Search == Linear:
		f.unless(limited || c.End != 0 && r.End != 0, "the search has no end: give the range an end, or a latency limit")
	}
}

func (f *Faults) input(in *Input) {
	oneOf(f, "input.source", in.Source, Random, Zero, Directory, JSONFiles)
	f.unless(in.Source == Random || in.Source == Zero || len(in.Paths) > 0, "input.paths is missing")
	oneOf(f, "input.shared_memory", in.SharedMemory, NoSharedMemory, SystemSharedMemory, CUDASharedMemory)
	least(f, "input.batch", in.Batch, 0)
	least(f, "input.string_length", in.StringLength, 1)
	least(f, "input.output_region_size", in.OutputRegionSize, 0)
	least(f, "input.sequence_length", in.SequenceLength, 1)
	least(f, "input.sequence_length_variation", in.SequenceLengthVariation, 0)
	least(f, "input.sequences", in.Sequences, 1)
	for name, shape := range in.Shapes {
		f.unless(len(shape) > 0 && slices.Min(afterBatch(shape)) > 0, "the shape of input %s is %v: dimensions must be at least 1; the first can be -1, the batch dimension", name, shape)
	}
	oneOf(f, "input.input_format", in.InputFormat, "", BinaryTensors, JSONTensors)
	oneOf(f, "input.output_format", in.OutputFormat, "", BinaryTensors, JSONTensors)
}

// afterBatch is a shape with a batch dimension of -1 taken as 1.
func afterBatch(shape []int64) []int64 {
	if shape[0] == -1 {
		return append([]int64{1}, shape[1:]...)
	}
	return shape
}

func (f *Faults) measure(m *Measure) {
	oneOf(f, "measure.window", m.Window, TimeWindows, CountWindows)
	f.unless(m.Interval > 0, "measure.interval must be more than 0s")
	least(f, "measure.min_requests", m.MinRequests, 1)
	least(f, "measure.stability", m.Stability, 0)
	least(f, "measure.max_trials", m.MaxTrials, 1)
	f.unless(!m.OneWindow || m.Window == TimeWindows, "measure.one_window needs windows of time")
	f.unless(m.Percentile >= 0 && m.Percentile < 100, "measure.percentile is %d, and must be from 0 to 99", m.Percentile)
	f.unless(m.LatencyLimit >= 0, "measure.latency_limit is below 0s")
	least(f, "measure.request_count", m.RequestCount, 0)
	least(f, "measure.warmup_count", m.WarmupCount, 0)
	f.unless(m.MaxErrorRate >= 0 && m.MaxErrorRate <= 1, "measure.max_error_rate is %g, and must be from 0 to 1", m.MaxErrorRate)
	f.unless(m.ValidErrorRate >= 0 && m.ValidErrorRate <= 1, "measure.valid_error_rate is %g, and must be from 0 to 1", m.ValidErrorRate)
}
