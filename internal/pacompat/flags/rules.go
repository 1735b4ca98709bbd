package flags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
)

// verify holds the rules across options, in perf_analyzer's order: the first that fails is the one reported.
func (r *raw) verify() error {
	for _, rule := range []func() error{
		r.verifyTarget, r.verifyCalls, r.verifyPeriodic, r.verifySearch,
		r.verifyWarmup, r.verifyRequestCount, r.verifyKind, r.verifyKindOptions, r.verifyStages, r.verifyDuration, r.verifySegment, r.verifyEmbedded,
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

// verifyTarget checks model, ranges, protocol, and what only gRPC can do.
func (r *raw) verifyTarget() error {
	t := &r.plan.Target
	if t.Model == "" && !kind.Of(t.Kind).NoModelName && r.compat { // redline names the server's models instead
		return errors.New("-m is missing: name the model to load, as in -m resnet50")
	}
	t.Protocol = plan.Protocol(strings.ToLower(r.protocol))
	if t.Protocol != plan.HTTP && t.Protocol != plan.GRPC {
		return fmt.Errorf("-i is http or grpc, not %q", r.protocol)
	}
	overHTTP := kind.Of(t.Kind).HTTPStreams && !r.compat // rules.Check refuses it for Triton
	if t.Streaming && t.Protocol != plan.GRPC && !kind.Of(t.Kind).InProcess() && !overHTTP {
		return errors.New("--streaming needs gRPC: add -i grpc")
	}
	if r.table.Given("grpc-compression-algorithm") && t.Protocol != plan.GRPC {
		return errors.New("--grpc-compression-algorithm needs gRPC: add -i grpc")
	}
	return nil
}

func (r *raw) verifyCalls() error {
	return cmp.Or(
		when(r.zero && len(r.paths) > 0, "-z and --data-directory exclude each other: leave one out"),
		when(r.async && r.sync, "--async and --sync exclude each other: leave one out"),
	)
}

func (r *raw) verifyPeriodic() error {
	load := &r.plan.Load
	if r.mode == plan.PeriodicConcurrency {
		if !r.plan.Target.Streaming {
			return errors.New("--periodic-concurrency-range needs streams: add -i grpc --streaming")
		}
		if r.plan.Output.Export == "" {
			return errors.New("--periodic-concurrency-range writes every request: add --profile-export-file FILE")
		}
		if load.MaxThreads < load.Periodic.End {
			if load.MaxThreadsSet {
				r.warn(fmt.Sprintf("--max-threads %d is less than the concurrency %d, and is raised to it", load.MaxThreads, load.Periodic.End))
			}
			load.MaxThreads = load.Periodic.End
		}
	}
	if len(r.plan.Target.Parameters) > 0 && r.plan.Target.Protocol != plan.GRPC {
		return errors.New("--request-parameter needs gRPC: add -i grpc")
	}
	return nil
}

// verifySearch checks that a search can end.
func (r *raw) verifySearch() error {
	load := &r.plan.Load
	unlimited := load.Concurrency.End == 0 || load.Rate.End == 0
	falls := load.Concurrency.End < load.Concurrency.Start || load.Rate.End < load.Rate.Start
	limit, binary := r.plan.Measure.LatencyLimit, load.Search == plan.Binary
	return cmp.Or(
		when(binary && len(load.Levels) > 0, "--binary-search needs a range, as in --concurrency-range 1:64, not a list"),
		when(unlimited && limit == 0, "a range without an end needs a latency at which it ends: add -l TIME, such as -l 50ms"),
		when(binary && unlimited, "--binary-search needs the end of the range, as in --concurrency-range 1:64"),
		when(binary && limit == 0, "--binary-search needs the latency to search for: add -l TIME, such as -l 50ms"),
		when(binary && falls, "the range ends below its start: write the lower number first"),
	)
}

func (r *raw) verifyWarmup() error {
	if r.plan.Measure.WarmupCount == 0 {
		return nil
	}
	severalConcurrencies, severalRates := r.severalLevels()
	const ours = "--warmup-request-count is for one level: give one level"
	return cmp.Or(
		when(severalConcurrencies, ours),
		when(severalRates, ours),
	)
}

// severalLevels tells whether the load has several concurrencies, or several rates.
func (r *raw) severalLevels() (concurrencies, rates bool) {
	load := &r.plan.Load
	c, rate, list := load.Concurrency, load.Rate, len(load.Levels) > 1
	return r.mode == plan.Concurrency && (c.Start < c.End || list), r.mode == plan.RequestRate && (rate.Start < rate.End || list)
}

func (r *raw) verifyRequestCount() error {
	n := r.plan.Measure.RequestCount
	if n == 0 {
		return nil
	}
	c, load := r.plan.Load.Concurrency, &r.plan.Load
	if !r.compat { // each level has as many requests
		c.Start = max(c.Start, c.End)
	}
	severalConcurrencies, severalRates := r.severalLevels()
	return cmp.Or(
		when(r.mode == plan.Concurrency && n < c.Start, "--request-count is lower than the highest concurrency: send at least as many requests"),
		when(r.compat && r.mode == plan.RequestRate && float64(n)+1 <= load.Rate.Start, "--request-count is lower than the rate: send at least as many requests"),
		when(r.compat && (severalConcurrencies || severalRates), "--request-count is for one level: give one level"),
	)
}

// verifyKind checks what the service kind demands.
func (r *raw) verifyKind() error {
	t, in := &r.plan.Target, &r.plan.Input
	row := kind.Of(t.Kind)
	if t.HTTPVersion != "" && !row.HTTP2 {
		return errors.New("--http-version is for --service-kind openai")
	}
	if err := r.verifyOptionsOfKind(); err != nil {
		return err
	}
	if row.Unbatched && !in.BatchSet {
		in.Batch = 0
	}
	switch {
	case row.InProcess():
		t.Protocol = ""
	case !slices.Contains(row.Protocols, plan.HTTP):
		t.Protocol = plan.GRPC
	}
	return nil
}

// verifyOptionsOfKind refuses what single kinds cannot do, and asks for what they need.
func (r *raw) verifyOptionsOfKind() error {
	t, in := &r.plan.Target, &r.plan.Input
	name, data := "--service-kind "+string(t.Kind), len(r.paths) > 0
	noData := when(!data, "%s needs its requests: add --input-data FILE", name)
	noGRPC := when(t.Protocol == plan.GRPC, "-i grpc: a server of the kind %s has no gRPC; use -i http", t.Kind)
	noAsync := when(r.async, "%s takes no --async: leave it out", name)
	noBatch := when(in.Batch > 1, "%s takes no -b above 1: leave it out", name)
	noStream := when(t.Streaming, "%s takes no --streaming: leave it out", name)
	switch t.Kind {
	case plan.TFServing:
		return cmp.Or(when(t.Protocol != plan.GRPC, "TensorFlow Serving is measured over gRPC: add -i grpc"), noStream, noAsync)
	case plan.TorchServe:
		return cmp.Or(noData, noAsync, noGRPC)
	case plan.TritonCAPI:
		return cmp.Or(
			when(t.ServerDirectory == "", "%s needs --triton-server-directory", name),
			when(t.ModelRepository == "", "%s needs --model-repository", name),
			when(r.async && t.Streaming && in.SharedMemory != plan.NoSharedMemory, "%s takes no --shared-memory with --async and --streaming: leave it out", name),
		)
	case plan.OpenAI:
		return cmp.Or(
			when(!data, "%s needs its requests: add --input-data FILE, or use 'redline llm', which makes prompts", name),
			when(t.Endpoint == "", "%s needs the path of the API: add --endpoint v1/chat/completions", name),
			when(!r.async, "%s needs --async: add it", name), noBatch, noGRPC,
		)
	case plan.Triton: // takes them all
	case plan.DynamicGRPC:
		unscheduled := when(r.compat && r.mode == plan.FixedSchedule, "%s follows no --fixed-schedule: leave it out", name)
		return cmp.Or(noAsync, noData, noBatch, unscheduled, when(t.Streaming && r.compat, "%s takes no --streaming: leave it out", name))
	}
	return nil
}

// verifyKindOptions checks options that only some kinds of servers or loads have. The rule about the think time is redline's own.
func (r *raw) verifyKindOptions() error {
	collect, row := r.plan.Target.Metrics.Collect, kind.Of(r.plan.Target.Kind)
	return cmp.Or(
		when(collect && !row.Metrics, "--collect-metrics reads the metrics of Triton: use --server-metrics URL for other servers"),
		when(!collect && r.table.Given("metrics-url"), "--metrics-url is about the metrics of Triton: add --collect-metrics"),
		when(!collect && r.table.Given("metrics-interval"), "--metrics-interval is about the metrics of Triton: add --collect-metrics"),
		when(r.mode == plan.SessionConcurrency && !row.Sessions, "--session-concurrency is for language models: add --service-kind openai"),
		when(r.plan.Load.ThinkTime.Mean > 0 && r.mode != plan.Concurrency, "--think-time needs a closed loop: use it with --concurrency-range alone"),
	)
}

// verifyStages is redline's own: stages are one level that ends by itself.
func (r *raw) verifyStages() error {
	if len(r.plan.Load.Stages) == 0 {
		return nil
	}
	for _, name := range []string{"request-count", "duration", "latency-threshold", "binary-search", "measurement-interval", "measurement-mode", "max-trials"} {
		if r.table.Given(name) {
			return fmt.Errorf("--stages and --%s exclude each other: the stages say how long is measured", name)
		}
	}
	return nil
}

// verifyDuration is redline's own.
func (r *raw) verifyDuration() error {
	if r.duration == 0 {
		return nil
	}
	for _, name := range []string{"request-count", "measurement-interval", "measurement-mode", "max-trials"} {
		if r.table.Given(name) {
			return fmt.Errorf("--duration and --%s exclude each other", name)
		}
	}
	if r.mode != plan.Concurrency && r.mode != plan.RequestRate && r.mode != plan.CustomIntervals {
		return errors.New("--duration needs a load without an end: use it with --concurrency-range, --request-rate-range or --request-intervals")
	}
	m := &r.plan.Measure
	m.Interval, m.OneWindow, m.MaxTrials = r.duration, true, 1
	return nil
}

// verifySegment is redline's own. Processes that have parts of one load do not talk to each other, so the options alone must say
// which levels there are and when they end.
func (r *raw) verifySegment() error {
	if r.plan.Segment.Whole() {
		return nil
	}
	load, m := &r.plan.Load, &r.plan.Measure
	severalConcurrencies, severalRates := r.severalLevels()
	ends := m.RequestCount > 0 || m.OneWindow || len(load.Stages) > 0 ||
		r.mode == plan.SessionConcurrency || r.mode == plan.FixedSchedule || r.mode == plan.PeriodicConcurrency
	switch {
	case r.plan.Target.Embedded:
		return errors.New("--segment and --embedded exclude each other: each part would load a server of its own")
	case load.MPI:
		return errors.New("--segment and --enable-mpi exclude each other")
	case m.Calibrate:
		return errors.New("--segment and --calibrate exclude each other: run 'redline calibrate' on each machine")
	case severalConcurrencies, severalRates, r.mode == plan.Concurrency && load.Concurrency.End == 0, r.mode == plan.RequestRate && load.Rate.End == 0:
		return errors.New("--segment needs a load with one level: the parts of a load do not know how the others measured a level")
	case !ends:
		return errors.New("--segment needs a load with an end, so that all parts end together: add --duration, --request-count or --stages")
	}
	return nil
}

// verifyEmbedded is redline's own: the embedded server is one Triton, at an address of its own choosing. So is the rule about the method:
// perf_analyzer calls a method without a name, and measures the refusals.
func (r *raw) verifyEmbedded() error {
	t, row := &r.plan.Target, kind.Of(r.plan.Target.Kind)
	return cmp.Or(
		when(!t.Embedded && len(t.EmbeddedArgs) > 0, "--embedded-arg needs --embedded: without it no server is started"),
		when(t.Embedded && r.table.Given("u"), "-u and --embedded exclude each other: the embedded server chooses its own address"),
		when(t.Embedded && !row.Embedded, "--embedded serves --service-kind triton only, not %s", t.Kind),
		when(row.Method && t.GRPCMethod == "" && !r.compat, "--grpc-method is missing: name the method to call as package.Service/Method"),
	)
}

// finish fills in what follows from other options once all rules hold.
func (r *raw) finish() error {
	t, in, m := &r.plan.Target, &r.plan.Input, &r.plan.Measure
	t.Call = plan.Auto
	if r.sync {
		t.Call = plan.Sync
	}
	if r.async || len(r.plan.Load.Stages) > 0 && !r.sync && !kind.Of(t.Kind).Synchronous {
		t.Call = plan.Async
	}
	r.finishURLs()
	switch t.Protocol {
	case plan.GRPC:
		t.TLS = r.grpcTLS
	case plan.HTTP:
		t.TLS = r.httpTLS
	}
	if !r.compat {
		t.Endpoint = strings.TrimLeft(t.Endpoint, "/")
		if err := kind.Of(t.Kind).Address(t, t.URL); err != nil {
			return err
		}
	}
	if r.table.Given("max-error-rate") {
		m.MaxErrorRate = m.ValidErrorRate
	}
	r.plan.Verbose = min(2, r.plan.Verbose)
	in.Seed = r.plan.Load.Seed
	if r.compat && t.Protocol == plan.HTTP && strings.HasSuffix(t.URL, "/") {
		t.URL += "/" // perf_analyzer puts a path that starts with a slash behind it
	}
	if !r.compat {
		m.FromSend = r.latencyFrom == fromSend
	} else if kind.Of(t.Kind).HTTP2 {
		t.HTTPVersion = "1.1" // the only version of perf_analyzer
	}
	in.SequenceStartID = uint64(r.startID)
	if !r.compat && !r.table.Given("sequence-id-range") {
		in.SequenceStartID, in.SequenceIDRange = 0, 0
	}
	if r.compat && !r.table.Given("output-tensor-format") {
		in.OutputFormat = in.InputFormat // perf_analyzer has one option for both
	}
	switch {
	case len(r.paths) > 0 && isDir(r.paths[0]):
		in.Source, in.Paths = plan.Directory, r.paths[:1]
	case len(r.paths) > 0:
		in.Source, in.Paths = plan.JSONFiles, r.paths
	case r.zero:
		in.Source = plan.Zero
	}
	if r.compat {
		exportAsPerfAnalyzer(&r.plan)
	}
	r.dropUntyped()
	r.dropForeign()
	return nil
}

// dropUntyped leaves out request parameters of types that cannot be sent, as perf_analyzer does, but says so.
func (r *raw) dropUntyped() {
	t := &r.plan.Target
	t.Parameters = slices.DeleteFunc(t.Parameters, func(p plan.Parameter) bool {
		sendable := p.Type == "string" || p.Type == "int" || p.Type == "bool"
		if !sendable {
			r.warn("--request-parameter " + p.Name + " is not sent: its type is not string, int or bool")
		}
		return !sendable
	})
	if len(t.Parameters) == 0 {
		t.Parameters = nil
	}
}

// finishURLs chooses the addresses that were not given.
func (r *raw) finishURLs() {
	t := &r.plan.Target
	if t.Metrics.Collect {
		t.Metrics.URL, t.Metrics.Interval = r.metricsURL, r.metricsEvery
		if host := hostOf(t.URL); r.table.Given("u") && !r.table.Given("metrics-url") && host != "" {
			t.Metrics.URL = host + ":8002/metrics"
		}
	}
	if r.table.Given("u") || t.Embedded {
		return
	}
	t.URL = "localhost:8000"
	if t.Protocol == plan.GRPC {
		t.URL = cmp.Or(kind.Of(t.Kind).GRPCAddress, t.URL)
	}
}

// hostOf returns the host of an address: no scheme, path or port.
func hostOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	url, _, _ = strings.Cut(url, "/")
	if i := strings.LastIndexByte(url, ':'); i >= 0 && !strings.HasSuffix(url, "]") {
		return url[:i]
	}
	return url
}

// dropForeign leaves the settings of other service kinds and load modes out of the plan: perf_analyzer ignores
// them, and a plan says only what will happen.
func (r *raw) dropForeign() {
	t := &r.plan.Target
	row := kind.Of(t.Kind)
	if !row.Signature {
		t.SignatureName = ""
	}
	if !row.InProcess() {
		t.ServerDirectory, t.ModelRepository = "", ""
	}
	if !row.Method {
		t.GRPCMethod, t.Protos = "", nil
	}
	if r.mode != plan.PeriodicConcurrency {
		r.plan.Load.Periodic, r.plan.Load.Period = plan.IntRange{}, 0
	}
	if r.mode != plan.SessionConcurrency {
		r.plan.Load.Sessions = 0
	}
	if r.mode != plan.CustomIntervals {
		r.plan.Load.Intervals = ""
	}
}
