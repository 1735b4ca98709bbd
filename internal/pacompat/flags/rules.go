package flags

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/pacompat/kinds"
	"github.com/redline-bench/redline/internal/plan"
)

// verify holds the rules across options, in perf_analyzer's order: the first that fails is the one reported.
func (r *raw) verify() error {
	for _, rule := range []func() error{
		r.verifyTarget, r.verifyNumbers, r.verifyCalls, r.verifyPeriodic, r.verifySearch,
		r.verifyWarmup, r.verifyRequestCount, r.verifyKind, r.verifyMetrics, r.verifySessions, r.verifyThinkTime, r.verifyStages, r.verifyDuration, r.verifySegment, r.verifyEmbedded, r.verifyMethod,
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
	if t.Model == "" && !kind.Of(t.Kind).NoModelName && r.face == plan.PerfAnalyzer { // redline names the server's models instead
		return failed("-m (model name). The value must be specified.", "")
	}
	if r.plan.Load.Concurrency.Start == 0 {
		return refused("The start of the search range must be > 0", "--concurrency-range starts at 1 or above")
	}
	if r.plan.Load.Rate.Start <= 0 {
		return failed("--request-rate-range. The start of the search range must be > 0.", "--request-rate-range starts above 0")
	}
	t.Protocol = plan.Protocol(strings.ToLower(r.protocol))
	if t.Protocol != plan.HTTP && t.Protocol != plan.GRPC {
		return failed("-i (protocol). The value should be either HTTP or gRPC.", "-i is http or grpc")
	}
	if t.Streaming && t.Protocol != plan.GRPC && !kind.Of(t.Kind).InProcess() {
		return refused("Streaming is only allowed with gRPC protocol and Triton C API.", "--streaming needs gRPC: add -i grpc")
	}
	if r.table.Given("grpc-compression-algorithm") && t.Protocol != plan.GRPC {
		return refused("Using compression algorithm is only allowed with gRPC protocol.", "--grpc-compression-algorithm needs gRPC: add -i grpc")
	}
	return nil
}

// verifyNumbers checks single values that perf_analyzer looks at late.
func (r *raw) verifyNumbers() error {
	if r.plan.Input.SequenceLengthVariation < 0 {
		return failed("--sequence-length-variation. The value must be >= 0.0.", "")
	}
	if r.startID == 0 {
		if r.face == plan.Redline {
			return line("--sequence-id-range starts at 1 or above: 0 is no correlation id")
		}
		r.warn("WARNING: using an invalid start sequence id. Perf Analyzer will use default value if it is measuring on sequence model.")
		r.startID = 1
	}
	if r.percentile != -1 && (r.percentile < 1 || r.percentile > 99) {
		return failed("--percentile. The value must be -1 for not reporting or in range (0, 100).", forms["--percentile"])
	}
	return nil
}

func (r *raw) verifyCalls() error {
	if r.zero && len(r.paths) > 0 {
		return refused("The -z flag cannot be set when --data-directory is provided.", "-z and --data-directory exclude each other: leave one out")
	}
	if r.async && r.sync {
		return refused("Cannot specify --async and --sync simultaneously.", "--async and --sync exclude each other: leave one out")
	}
	return nil
}

func (r *raw) verifyPeriodic() error {
	load := &r.plan.Load
	if r.mode == plan.PeriodicConcurrency {
		if !r.plan.Target.Streaming {
			return refused("The --periodic-concurrency-range option requires bi-directional gRPC streaming.", "--periodic-concurrency-range needs streams: add -i grpc --streaming")
		}
		if r.plan.Output.Export == "" {
			return refused("Must provide --profile-export-file when using the --periodic-concurrency-range option.", "--periodic-concurrency-range writes every request: add --profile-export-file FILE")
		}
		short := load.MaxThreads < load.Periodic.End
		if load.MaxThreadsSet && (short || r.face == plan.PerfAnalyzer) { // perf_analyzer warns whatever the number
			r.warn(r.raised(load.MaxThreads, load.Periodic.End))
		}
		if short {
			load.MaxThreads = load.Periodic.End
		}
	}
	if len(r.plan.Target.Parameters) > 0 && r.plan.Target.Protocol != plan.GRPC {
		return refused("The --request-parameter option is currently only supported by gRPC protocol.", "--request-parameter needs gRPC: add -i grpc")
	}
	return nil
}

// raised says that --max-threads is raised to the highest concurrency.
func (r *raw) raised(from, to int) string {
	if r.face == plan.PerfAnalyzer {
		return "WARNING: Overriding max_threads specification to ensure requested concurrency range."
	}
	return fmt.Sprintf("redline profile: --max-threads %d is less than the concurrency %d, and is raised to it", from, to)
}

// verifySearch checks that a search can end.
func (r *raw) verifySearch() error {
	load := &r.plan.Load
	unlimited := load.Concurrency.End == 0 || load.Rate.End == 0
	limit := r.plan.Measure.LatencyLimit
	if unlimited && limit == 0 {
		return refused("The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously", "a range without an end needs a latency at which it ends: add -l TIME, such as -l 50ms")
	}
	if load.Search != plan.Binary {
		return nil
	}
	switch {
	case unlimited:
		return refused("The end of the range can not be 0 (or 0.0) for binary search mode.", "--binary-search needs the end of the range, as in --concurrency-range 1:64")
	case limit == 0:
		return refused("The --latency-threshold cannot be 0 for binary search mode.", "--binary-search needs the latency to search for: add -l TIME, such as -l 50ms")
	case load.Concurrency.End < load.Concurrency.Start || load.Rate.End < load.Rate.Start:
		return refused("The end of the range can not be less than start of the range for binary search mode.", "the range ends below its start: write the lower number first")
	}
	return nil
}

func (r *raw) verifyWarmup() error {
	if r.plan.Measure.WarmupCount == 0 {
		return nil
	}
	load := &r.plan.Load
	if r.mode == plan.Concurrency && load.Concurrency.Start < load.Concurrency.End {
		return refused("--warmup-request-count not supported with multiple concurrency values in one run", "--warmup-request-count is for one level: give one level")
	}
	if r.mode == plan.RequestRate && load.Rate.Start < load.Rate.End {
		return refused("--warmup-request-count not supported with multiple request rate values in one run", "--warmup-request-count is for one level: give one level")
	}
	return nil
}

func (r *raw) verifyRequestCount() error {
	n := r.plan.Measure.RequestCount
	if n == 0 {
		return nil
	}
	load := &r.plan.Load
	if r.mode == plan.Concurrency {
		if n < load.Concurrency.Start {
			return refused("--request-count can not be less than concurrency", "--request-count is lower than the concurrency: send at least as many requests")
		}
		if load.Concurrency.Start < load.Concurrency.End {
			return refused("--request-count not supported with multiple concurrency values in one run", "--request-count is for one level: give one level, or use --duration TIME for each of several")
		}
	}
	if r.mode == plan.RequestRate {
		if float64(n)+1 <= load.Rate.Start && r.face == plan.PerfAnalyzer {
			return refused("--request-count can not be less than request rate", "--request-count is lower than the rate: send at least as many requests")
		}
		if load.Rate.Start < load.Rate.End {
			return refused("--request-count not supported with multiple request rate values in one run", "--request-count is for one level: give one level, or use --duration TIME for each of several")
		}
	}
	return nil
}

// verifyKind checks what the service kind demands.
func (r *raw) verifyKind() error {
	t, in := &r.plan.Target, &r.plan.Input
	row := kind.Of(t.Kind)
	if t.HTTPVersion != "" && !row.HTTP2 {
		return line("--http-version is for --service-kind openai")
	}
	if refuse := kinds.Of(t.Kind).Refuse; refuse != nil {
		if original, ours := refuse(&kinds.Asked{Target: t, Input: in, Async: r.async, Data: len(r.paths) > 0}); original != "" {
			return refused(original, ours)
		}
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

func (r *raw) verifyMetrics() error {
	switch collect := r.plan.Target.Metrics.Collect; {
	case collect && !kind.Of(r.plan.Target.Kind).Metrics:
		return refused("Server-side metric collection is only supported with Triton client backend.", "--collect-metrics reads the metrics of Triton: use --server-metrics URL for other servers")
	case !collect && r.table.Given("metrics-url"):
		return refused("Must specify --collect-metrics when using the --metrics-url option.", "--metrics-url is about the metrics of Triton: add --collect-metrics")
	case !collect && r.table.Given("metrics-interval"):
		return refused("Must specify --collect-metrics when using the --metrics-interval option.", "--metrics-interval is about the metrics of Triton: add --collect-metrics")
	}
	return nil
}

func (r *raw) verifySessions() error {
	if r.mode == plan.SessionConcurrency && !kind.Of(r.plan.Target.Kind).Sessions {
		return refused("Session concurrency mode is only supported with OpenAI service kind.", "--session-concurrency is for language models: add --service-kind openai")
	}
	return nil
}

// verifyThinkTime is redline's own.
func (r *raw) verifyThinkTime() error {
	if r.plan.Load.ThinkTime.Mean > 0 && r.mode != plan.Concurrency {
		return line("--think-time needs a closed loop: use it with --concurrency-range alone")
	}
	return nil
}

// verifyStages is redline's own: stages are one level that ends by itself.
func (r *raw) verifyStages() error {
	if len(r.plan.Load.Stages) == 0 {
		return nil
	}
	for _, name := range []string{"request-count", "duration", "latency-threshold", "binary-search", "measurement-interval", "measurement-mode", "max-trials"} {
		if r.table.Given(name) {
			return line("--stages and --%s exclude each other: the stages say how long is measured", name)
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
			return line("--duration and --%s exclude each other", name)
		}
	}
	if r.mode != plan.Concurrency && r.mode != plan.RequestRate && r.mode != plan.CustomIntervals {
		return line("--duration needs a load without an end: use it with --concurrency-range, --request-rate-range or --request-intervals")
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
	c, rate := load.Concurrency, load.Rate
	ends := m.RequestCount > 0 || m.OneWindow || len(load.Stages) > 0 ||
		r.mode == plan.SessionConcurrency || r.mode == plan.FixedSchedule || r.mode == plan.PeriodicConcurrency
	switch {
	case r.plan.Target.Embedded:
		return line("--segment and --embedded exclude each other: each part would load a server of its own")
	case load.MPI:
		return line("--segment and --enable-mpi exclude each other")
	case m.Calibrate:
		return line("--segment and --calibrate exclude each other: run 'redline calibrate' on each machine")
	case r.mode == plan.Concurrency && (c.End == 0 || c.End > c.Start), r.mode == plan.RequestRate && (rate.End == 0 || rate.End > rate.Start):
		return line("--segment needs a load with one level: the parts of a load do not know how the others measured a level")
	case !ends:
		return line("--segment needs a load with an end, so that all parts end together: add --duration, --request-count or --stages")
	}
	return nil
}

// verifyEmbedded is redline's own: the embedded server is one Triton, at an address of its own choosing.
func (r *raw) verifyEmbedded() error {
	t := &r.plan.Target
	if !t.Embedded {
		if len(t.EmbeddedArgs) > 0 {
			return line("--embedded-arg needs --embedded: without it no server is started")
		}
		return nil
	}
	if r.table.Given("u") {
		return line("-u and --embedded exclude each other: the embedded server chooses its own address")
	}
	if !kind.Of(t.Kind).Embedded {
		return line("--embedded serves --service-kind triton only, not %s", t.Kind)
	}
	return nil
}

// verifyMethod is redline's own: perf_analyzer calls a method without a name, and measures the refusals.
func (r *raw) verifyMethod() error {
	if t := &r.plan.Target; kind.Of(t.Kind).Method && t.GRPCMethod == "" && r.face == plan.Redline {
		return line("--grpc-method is missing: name the method to call as package.Service/Method")
	}
	return nil
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
	if r.face == plan.Redline {
		t.Endpoint = strings.TrimLeft(t.Endpoint, "/")
		if err := kind.Of(t.Kind).Address(t, t.URL); err != nil {
			return line("%v", err)
		}
	}
	if r.percentile > 0 {
		m.Percentile = r.percentile
	}
	if r.table.Given("max-error-rate") {
		m.MaxErrorRate = m.ValidErrorRate
	}
	r.plan.Verbose = min(2, r.plan.Verbose)
	in.Seed = r.plan.Load.Seed
	if r.face == plan.PerfAnalyzer && t.Protocol == plan.HTTP && strings.HasSuffix(t.URL, "/") {
		t.URL += "/" // perf_analyzer puts a path that starts with a slash behind it
	}
	if r.face == plan.Redline {
		m.FromSend = r.latencyFrom == fromSend
	} else if kind.Of(t.Kind).HTTP2 {
		t.HTTPVersion = "1.1" // the only version of perf_analyzer
	}
	in.SequenceStartID = uint64(r.startID)
	if r.face == plan.Redline && !r.table.Given("sequence-id-range") {
		in.SequenceStartID, in.SequenceIDRange = 0, 0
	}
	if r.face == plan.PerfAnalyzer && !r.table.Given("output-tensor-format") {
		in.OutputJSON = in.InputJSON // perf_analyzer has one option for both
	}
	switch {
	case len(r.paths) > 0 && isDir(r.paths[0]):
		in.Source, in.Paths = plan.Directory, r.paths[:1]
	case len(r.paths) > 0:
		in.Source, in.Paths = plan.JSONFiles, r.paths
	case r.zero:
		in.Source = plan.Zero
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
			if r.face == plan.Redline {
				r.warn("redline profile: --request-parameter " + p.Name + " is not sent: its type is not string, int or bool")
				return true
			}
			r.warn("WARNING: --request-parameter " + p.Name + " is not sent: its type is not string, int or bool.")
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
