package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/llm/ready"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// options are the options of `redline llm`. Each field is set by one row of a table below.
type options struct {
	model     string
	urls      []string
	protocol  plan.Protocol // seed 003's -i; empty: by the endpoint
	kind      string
	path      string
	streaming bool
	noStream  bool
	headers   []plan.Header
	apiKey    string
	apiKeyEnv string
	extra     map[string]json.RawMessage
	template  string
	response  string
	usage     string
	legacy    bool
	noUsage   bool
	chunks    bool   // usage in every chunk
	session   string // name of the header of a conversation
	wait      ready.Wait
	timeout   time.Duration
	largest   int64 // bytes of a response
	tls       plan.TLS
	grpcTLS   bool
	http      string // version; empty chooses
	insecure  bool
	embedded  bool

	concurrency   []int
	rates         []float64
	arrival       load.Arrival
	smoothness    float64
	stages        []load.Stage
	sessionStages []load.Stage
	ramp          time.Duration
	rateRamp      time.Duration
	prefill       int
	thinkTime     pace.ThinkTime
	userRate      float64
	users         int
	fixed, noFix  bool
	requests      int
	sessions      int
	duration      time.Duration
	grace         time.Duration
	warm          warmOptions
	pause         time.Duration // between levels
	runPause      time.Duration // between repeats
	sameSeed      bool          // repeats ask the same prompts at the same times
	warmOnce      bool          // only the first repeat has a warm-up
	cooldown      time.Duration
	cancelRate    float64
	cancelDelay   time.Duration
	cancelTokens  float64
	maxErrors     int
	maxErrorRate  float64 // as a share
	until         string
	goodput       string
	runs          int
	calibrate     bool
	confidence    float64

	data          dataset.Options
	inputData     string // seed 003's name of the file
	tokenizer     string
	tokenizerPath string // seed 003's name
	chatTemplate  bool
	systemFile    string
	spread        float64 // of lengths around their means, as a share
	serverCounts  bool

	artifacts   string
	prefix      string
	exports     string
	exportLevel string
	scrape      []string // pages of metrics to read during a run
	scrapeForms string
	gpus        []string // pages of GPUs
	sliceEvery  time.Duration
	json        string
	outputs     bool // outputs.json
	outcome     plan.Outcome
	console     string // table or seed; empty: by the options
	verbose     bool

	table *option.Table // what the command line said
}

// defaults are the options when none is given.
func defaults() *options {
	return &options{
		maxErrorRate: plan.DefaultErrorRate,
		arrival:      load.Poisson, smoothness: 0, grace: 30 * time.Second, runs: 1, confidence: 0.95,
		outcome: plan.DefaultOutcome(),
		extra:   map[string]json.RawMessage{}, timeout: 6 * time.Hour, session: "X-Correlation-ID",
		wait: ready.Wait{Mode: "inference", Every: 5 * time.Second},
		data: dataset.Options{Input: dataset.Lengths{Mean: 550}, Trace: dataset.Trace{AutoOffset: true}},
	}
}

// rows are all options of the command.
func (o *options) rows() []option.Row {
	return slices.Concat(o.targetRows(), o.loadRows(), o.stopRows(), o.warmRows(), o.promptRows(), o.shapeRows(), o.mediaRows(),
		o.outputRows(), o.outcome.Rows(), aiperfRows())
}

func (o *options) targetRows() []option.Row {
	return option.Group("Server", []option.Row{
		{Long: "model", Short: 'm', Also: "model-names", Arg: "NAME", Help: "model to request; of several, separated by commas, each conversation takes one", To: option.Text(&o.model)},
		{Long: "model-selection-strategy", Arg: "NAME", Default: "round_robin", Help: "how a conversation takes one of several models: round_robin or random", To: option.Func(func(v string) error {
			v = strings.ReplaceAll(v, "-", "_")
			o.data.DrawnModels = v == "random"
			if v != "round_robin" && v != "random" {
				return fmt.Errorf("is round_robin or random, not %q", v)
			}
			return nil
		}).Of("round_robin", "random")},
		{Long: "url", Short: 'u', Arg: "ADDR", Repeat: true, Help: "address of the server; several, separated by commas, take turns", Secret: secret.URL, To: option.Func(func(v string) error {
			o.urls = append(o.urls, strings.Split(v, ",")...)
			return nil
		})},
		{Long: "endpoint-type", Arg: "TYPE", Default: "chat", Help: "the API: " + strings.Join(api.Kinds(), ", "), To: option.Func(func(v string) error {
			k, err := api.Parse(v)
			o.kind = string(k)
			return err
		}).Of(api.Kinds()...)},
		{Long: "endpoint", Also: "custom-endpoint", Arg: "PATH", Help: "path of the API, instead of its usual path", Secret: secret.URL, To: option.Text(&o.path)},
		{Long: "streaming", Help: "request streamed responses", To: option.Switch(&o.streaming)},
		{Long: "no-streaming", Help: "KServe: one response even if the model streams", To: option.Switch(&o.noStream)},
		{Long: "protocol", Short: 'i', Arg: "PROTOCOL", Help: "load a Triton text model over grpc, or over http with its generate endpoint", To: option.OneOf(&o.protocol, string(plan.HTTP), string(plan.GRPC))},
		{Long: "header", Short: 'H', Arg: "NAME:VALUE", Repeat: true, Help: "header of every request, or gRPC metadata", Secret: secret.Header, To: plan.AppendHeader(&o.headers)},
		{Long: "api-key", Arg: "KEY", Help: "key to send as Authorization: Bearer, or as x-api-key with the messages API", Secret: secret.Whole, To: option.Text(&o.apiKey)},
		{Long: "api-key-env", Arg: "VARIABLE", Help: "environment variable that holds the key", To: option.Text(&o.apiKeyEnv)},
		{Long: "extra-inputs", Also: "extra-body", Arg: "NAME:VALUE", Repeat: true, Help: "field of every request body, or input of the model; or a JSON object of several", Secret: secret.Pair, To: option.Func(o.addExtra)},
		{Long: "template", Arg: "FILE", Help: "template: Go text/template of the request body; see docs/llm.md", To: option.Text(&o.template)},
		{Long: "response-field", Arg: "PATH", Help: "template: path of the text in a response, as choices.0.text", To: option.Text(&o.response)},
		{Long: "usage-fields", Arg: "PATH,PATH", Help: "template: paths of the token counts of prompt and response", To: option.Text(&o.usage)},
		{Long: "use-legacy-max-tokens", Help: "chat: send the token limit as max_tokens", To: option.Switch(&o.legacy)},
		{Long: "no-usage", Help: "do not request the server's token counts in streams", To: option.Switch(&o.noUsage)},
		{Long: "per-chunk-usage", Help: "request the server's token counts in every event of a stream (vLLM, TensorRT-LLM)", To: option.Switch(&o.chunks)},
		{Long: "session-header", Arg: "NAME", Help: "header that carries the id of the conversation, for routers; X-Request-ID carries the id of the request", To: option.Text(&o.session)},
		{Long: "wait-for-model-timeout", Arg: "SECONDS", Help: "longest wait until the model responds; 0 does not wait", To: seconds(&o.wait.Timeout)},
		{Long: "wait-for-model-mode", Arg: "HOW", Help: "wait until the model is listed (models), until it responds (inference), or both", To: option.OneOf(&o.wait.Mode, "models", "inference", "both")},
		{Long: "wait-for-model-interval", Arg: "SECONDS", Help: "time between two tries of --wait-for-model-timeout", To: seconds(&o.wait.Every)},
		{Long: "request-timeout-seconds", Arg: "SECONDS", Help: "a request that takes longer fails", To: seconds(&o.timeout)},
		{Long: "max-response-bytes", Arg: "N", Default: strconv.Itoa(plan.DefaultMaxResponse), Help: "largest response, unpacked and with all its events; a larger one fails", To: option.Bytes(&o.largest, 1, plan.MostResponse)},
		{Long: "http-version", Arg: "VERSION", Help: "auto, 1.1 or 2", To: plan.HTTPVersion(&o.http)},
		{Long: "ssl-grpc-use-ssl", Help: "gRPC: use TLS", To: option.Switch(&o.grpcTLS)},
		{Long: "ca-file", Also: "ssl-https-ca-certificates-file ssl-grpc-root-certifications-file", Arg: "FILE", Help: "certificate authorities to trust, as PEM, instead of the system's", To: option.Text(&o.tls.CAFile)},
		{Long: "cert-file", Also: "ssl-https-client-certificate-file ssl-grpc-certificate-chain-file", Arg: "FILE", Help: "certificate of this client", To: option.Text(&o.tls.CertFile)},
		{Long: "key-file", Also: "ssl-https-private-key-file ssl-grpc-private-key-file", Arg: "FILE", Help: "private key of --cert-file", To: option.Text(&o.tls.KeyFile)},
		{Long: "insecure", Help: "do not check the server's certificate", To: option.Switch(&o.insecure)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&o.embedded)},
	})
}

func (o *options) loadRows() []option.Row {
	return option.Group("Load", []option.Row{
		{Long: "concurrency", Arg: "LIST", Help: "concurrent conversations, one level each: 1,4,8 or 1:8:1; with a rate, the most requests in flight", To: option.Parsed(&o.concurrency, intList)},
		{Long: "request-rate", Arg: "LIST", Unit: "requests/s", Help: "open loop: rates, one level each", To: option.Parsed(&o.rates, floatList)},
		{Long: "arrival-pattern", Also: "request-rate-mode", Arg: "NAME", Default: "poisson", Help: "distribution of the gaps between requests at a rate: constant, poisson or gamma", To: arrival(&o.arrival)},
		{Long: "request-rate-series", Arg: "FILE", Help: `rates over time as JSON: [{"time_s":0,"qps":5}, ...], interpolated in between`, To: option.Func(func(v string) (err error) {
			if o.stages != nil {
				return errors.New("and --stages exclude each other")
			}
			o.stages, err = load.ReadRates(v)
			return err
		})},
		{Long: "arrival-smoothness", Also: "vllm-burstiness", Arg: "SHAPE", Help: "shape of gamma arrivals: 1 is Poisson, higher is smoother", To: option.Float(&o.smoothness, 0, 1e6)},
		{Long: "stages", Arg: "LIST", Help: `rates one after the other in one level: "10:30s,50:1m"; "10-50:30s" rises`, To: option.Func(func(v string) (err error) {
			if o.stages != nil {
				return errors.New("is given twice, or besides --request-rate-series")
			}
			o.stages, err = stageList(v)
			return err
		})},
		{Long: "concurrency-stages", Arg: "LIST", Help: `numbers of concurrent conversations one after the other in one level: "1:30s,8:1m"`, To: option.Parsed(&o.sessionStages, stageList)},
		{Long: "concurrency-ramp-duration", Arg: "SECONDS", Help: "start the conversations one after the other over this time", To: seconds(&o.ramp)},
		{Long: "request-rate-ramp-duration", Arg: "SECONDS", Help: "raise the rate from 0 over this time", To: seconds(&o.rateRamp)},
		{Long: "think-time", Arg: "DURATION[±SPREAD]", Default: "0s", Help: "closed loop: wait this long after a request has ended before the next is sent in its place, as 100ms or 100ms±20ms " +
			"(uniform, drawn from --random-seed; +- stands for ±); no latency includes it", To: option.Parsed(&o.thinkTime, pace.ParseThinkTime)},
		{Long: "prefill-concurrency", Arg: "N", Help: "at most N requests wait for their first token at once", To: option.Int(&o.prefill, 0)},
		{Long: "user-centric-rate", Arg: "RATE", Unit: "requests/s", Help: "rate of all users together; each user sends at even gaps", To: option.Float(&o.userRate, 0, 1e9)},
		{Long: "num-users", Arg: "N", Help: "users of --user-centric-rate", To: option.Int(&o.users, 0)},
		{Long: "fixed-schedule", Help: "send at the times of the input file", To: option.Switch(&o.fixed)},
		{Long: "no-fixed-schedule", Help: "ignore timestamps in the input file", To: option.Switch(&o.noFix)},
		{Long: "replay-speedup", Also: "synthesis-speedup-ratio", Arg: "FACTOR", Help: "replay a schedule this many times faster", To: option.Float(&o.data.Trace.Speedup, 0, 1e9)},
		{Long: "fixed-schedule-start-offset", Arg: "MS", Help: "leave out requests that are due earlier", To: option.Parsed(&o.data.Trace.Start, milliseconds)},
		{Long: "fixed-schedule-end-offset", Arg: "MS", Help: "leave out requests that are due later", To: option.Parsed(&o.data.Trace.End, milliseconds)},
		{Long: "fixed-schedule-auto-offset", Help: "start a schedule at its first request (the default)", To: option.Switch(&o.data.Trace.AutoOffset)},
		{Long: "no-fixed-schedule-auto-offset", Help: "keep the time before the first request of a schedule", To: option.SwitchOff(&o.data.Trace.AutoOffset)},
		{Long: "request-cancellation-rate", Arg: "PERCENT", Help: "share of the requests that the client cancels", To: option.Float(&o.cancelRate, 0, 100)},
		{Long: "request-cancellation-delay", Arg: "SECONDS", Help: "cancel after this time", To: seconds(&o.cancelDelay)},
		{Long: "request-cancellation-tokens", Arg: "PERCENT", Help: "cancel after this share of the requested tokens", To: option.Float(&o.cancelTokens, 0, 100)},
	})
}

// endingErrorRate is the share of failed requests that ends a level; 0 is none.
func (o *options) endingErrorRate() float64 {
	if o.table.Given("max-error-rate") || o.table.Given("failed-request-threshold") {
		return o.maxErrorRate
	}
	return 0
}

func (o *options) stopRows() []option.Row {
	return option.Group("How long, and what counts", []option.Row{
		{Long: "request-count", Also: "num-requests", Arg: "N", Help: "requests of a level", To: option.Int(&o.requests, 1)},
		{Long: "num-conversations", Also: "num-sessions conversation-num", Arg: "N", Help: "conversations of a level", To: option.Int(&o.sessions, 1)},
		{Long: "benchmark-duration", Arg: "SECONDS", Help: "duration of a level", To: seconds(&o.duration)},
		{Long: "benchmark-grace-period", Arg: "SECONDS", Help: "how long requests may go on after --benchmark-duration; inf waits for all", To: endlessSeconds(&o.grace)},
		{Long: "cooldown-duration", Arg: "SECONDS", Help: "requests that start this close to the end of a level do not count", To: seconds(&o.cooldown)},
		{Long: "max-errors", Arg: "N", Help: "end a level at this many failed requests", To: option.Int(&o.maxErrors, 0)},
		{Long: "max-error-rate", Arg: "PERCENT", Help: "a level in which more than this share of the requests fails is not valid; when given, the level also ends there", To: option.Percent(&o.maxErrorRate, 100)},
		{Long: "failed-request-threshold", Arg: "SHARE", Help: "--max-error-rate as a number from 0 to 1", To: option.Float(&o.maxErrorRate, 0, 1)},
		{Long: "until", Arg: "TARGET", Help: `end a level when a confidence interval is narrow enough: "ttft.p99 ± 5 %"`, To: option.Text(&o.until)},
		{Long: "goodput", Arg: "LIST", Repeat: true, Help: `count requests that keep limits, in ms: "ttft:200 itl:20"`, To: option.Func(func(v string) error {
			o.goodput = strings.TrimSpace(o.goodput + " " + v)
			return nil
		})},
		{Long: "runs", Also: "num-profile-runs", Arg: "N", Help: "measure each level this many times; confidence intervals are then over the runs", To: option.Int(&o.runs, 1)},
		{Long: "calibrate", Help: "after the run, measure the error of the times of tokens at the pace of each level on a reference server on this machine; " +
			"up to 4 seconds a level", To: option.Switch(&o.calibrate)},
		{Long: "profile-run-cooldown-seconds", Arg: "SECONDS", Help: "pause between two runs of a level", To: seconds(&o.runPause)},
		{Long: "no-vary-seed-per-trial", Help: "send the same prompts at the same times in every run of a level; a prefix cache may hold them by then", To: option.Switch(&o.sameSeed)},
		{Long: "vary-seed-per-trial", Help: "send different prompts in every run of a level (the default)", To: option.SwitchOff(&o.sameSeed)},
		{Long: "profile-run-disable-warmup-after-first", Help: "warm up before the first run of a level only", To: option.Switch(&o.warmOnce)},
		{Long: "no-profile-run-disable-warmup-after-first", Help: "warm up before every run of a level (the default)", To: option.SwitchOff(&o.warmOnce)},
		{Long: "parameter-sweep-cooldown-seconds", Arg: "SECONDS", Help: "pause between levels", To: seconds(&o.pause)},
		{Long: "confidence-level", Arg: "SHARE", Help: "probability of confidence intervals; 0 computes none", To: option.Float(&o.confidence, 0, 0.9999)},
	})
}

func (o *options) outputRows() []option.Row {
	return option.Group("Output", []option.Row{
		{Long: "artifact-dir", Also: "output-artifact-dir", Arg: "DIR", Help: "write AIPerf's files to this folder, one subfolder for each level", To: option.Text(&o.artifacts)},
		{Long: "profile-export-prefix", Also: "profile-export-file", Arg: "NAME", Help: "prefix of the names of AIPerf's files", To: option.Text(&o.prefix)},
		{Long: "exports", Arg: "LIST", Help: "files of --artifact-dir: summary, csv, records, inputs, outputs, raw, slices, profile, genai, vllm, parquet, all", To: option.Text(&o.exports)},
		{Long: "export-level", Also: "profile-export-level", Arg: "LEVEL", Help: "files of --artifact-dir in AIPerf's words: summary, records or raw", To: option.OneOf(&o.exportLevel, "summary", "records", "raw")},
		{Long: "export-outputs-json", Help: "write the texts of the responses to outputs.json, as --exports outputs", To: option.Switch(&o.outputs)},
		{Long: "slice-duration", Arg: "SECONDS", Help: "width of the time slices", To: seconds(&o.sliceEvery)},
		{Long: "server-metrics", Arg: "URL", Repeat: true, Help: "read these pages of Prometheus metrics during the run; see docs/outputs.md", Secret: secret.URL, To: option.Func(func(v string) error {
			o.scrape = append(o.scrape, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
			return nil
		})},
		{Long: "server-metrics-formats", Arg: "LIST", Repeat: true, Default: "json,csv", Help: "files of --server-metrics: json, csv, jsonl", To: option.Func(func(v string) error {
			o.scrapeForms = strings.Trim(o.scrapeForms+","+v, ",")
			return checkScrapeForms(o.scrapeForms)
		}).Of("json", "csv", "jsonl")},
		{Long: "gpu-telemetry", Arg: "URL", Repeat: true, Help: "read these pages of NVIDIA's DCGM exporter during the run; see docs/outputs.md", Secret: secret.URL, To: option.Func(func(v string) error {
			list, err := gpuPages(v)
			o.gpus = append(o.gpus, list...)
			return err
		})},
		{Long: "json", Arg: "FILE", Help: "write the whole result as JSON", To: option.Text(&o.json)},
		{Long: "console", Arg: "FORM", Help: "form of the report: table, or seed for the blocks of seed 003's tool; by default the options decide", To: option.OneOf(&o.console, "table", "seed")},
		{Long: "verbose", Short: 'v', Also: "extra-verbose", Help: "print every metric, confidence intervals, and the source of each token count", To: option.Switch(&o.verbose)},
	})
}

// parseTargets reads what needs the metrics' names.
func (o *options) parseTargets(to *load.Options) error {
	if o.goodput != "" {
		list, err := metric.ParseGoodput(o.goodput)
		if err != nil {
			return fmt.Errorf("--goodput %w", err)
		}
		to.Goodput = list
	}
	if o.until != "" {
		t, err := metric.ParseTarget(o.until)
		if err != nil {
			return fmt.Errorf("--until %w", err)
		}
		to.Until = &t
	}
	return nil
}
