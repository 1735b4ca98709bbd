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
	"github.com/redline-bench/redline/internal/segment"
)

// options are the options of `redline llm`. Each field is set by one row of a table below.
type options struct {
	model     string
	urls      []string
	protocol  plan.Protocol // -i of the Python perf tool for TensorRT-LLM; empty: by the endpoint
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
	triton    bool // GenAI-Perf's options name a model of Triton

	concurrency   []int
	rates         []float64
	arrival       load.Arrival
	smoothness    float64
	closed        bool // --arrival-pattern concurrency_burst
	stages        []pace.Stage
	sessionStages []pace.Stage
	ramp          time.Duration
	rateRamp      time.Duration
	prefill       int
	thinkTime     pace.ThinkTime
	userRate      float64
	users         int
	fixed, noFix  bool
	segment       segment.Segment
	requests      int
	sessions      int
	sessionCounts []int // a level each
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
	inputs        []float64 // mean lengths, a level each
	lengths       []float64 // mean output lengths, a level each
	exactOutput   bool
	inputData     string // that tool's name of the file
	tokenizer     string
	tokenizerPath string // that tool's name
	chatTemplate  bool
	systemFile    string
	spread        float64 // of lengths around their means, as a share
	serverCounts  bool

	artifacts   string
	prefix      string
	exports     string
	exportLevel string
	scrapeForms string
	own         []string // the server's own pages of metrics, if they are read
	gpus        []string // pages of GPUs
	findGPUs    bool     // look for a page of GPUs on this machine
	sliceEvery  time.Duration
	json        string
	save        string // scenario
	outputs     bool   // outputs.json
	outcome     plan.Outcome
	fleet       plan.Fleet
	console     string // table or seed; empty: by the options
	verbose     bool

	table *option.Table // what the command line said
}

// defaults are the options when none is given.
func defaults() *options {
	return &options{
		maxErrorRate: plan.DefaultErrorRate,
		arrival:      load.Poisson, smoothness: 0, grace: 30 * time.Second, runs: 1, confidence: 0.95,
		outcome: plan.DefaultOutcome(), fleet: plan.DefaultFleet(),
		extra: map[string]json.RawMessage{}, timeout: 6 * time.Hour, session: "X-Correlation-ID",
		wait: ready.Wait{Mode: "inference", Every: 5 * time.Second},
		data: dataset.Options{Input: dataset.Lengths{Mean: 550}, Trace: dataset.Trace{AutoOffset: true}},
	}
}

// rows are all options of the command.
func (o *options) rows() []option.Row {
	return slices.Concat(o.targetRows(), o.loadRows(), o.stopRows(), o.warmRows(), o.promptRows(), o.shapeRows(), o.mediaRows(),
		o.outputRows(), o.outcome.Rows(), o.fleet.Rows(), o.genaiperfRows(), aiperfRows(), otherRows())
}

func (o *options) targetRows() []option.Row {
	return option.Group("Server", []option.Row{
		{Long: "model", Short: 'm', Also: "model-names", Arg: "NAME", Repeat: true, Help: "name of the model; with several, or a comma-separated list, each conversation uses one of the models", To: option.Func(func(v string) error {
			if o.model != "" {
				v = o.model + "," + v
			}
			o.model = v
			return nil
		})},
		{Long: "model-selection-strategy", Arg: "NAME", Default: "round_robin", Help: "how a conversation's model is chosen from the list: round_robin or random", To: option.Func(func(v string) error {
			v = strings.ReplaceAll(v, "-", "_")
			o.data.DrawnModels = v == "random"
			if v != "round_robin" && v != "random" {
				return fmt.Errorf("is round_robin or random, not %q", v)
			}
			return nil
		}).Of("round_robin", "random")},
		{Long: "url", Short: 'u', Arg: "ADDR", Repeat: true, Help: "address of the server; requests go to several addresses in turn (comma-separated)", Secret: secret.URL, To: option.Func(func(v string) error {
			o.urls = append(o.urls, strings.Split(v, ",")...)
			return nil
		})},
		{Long: "endpoint-type", Arg: "TYPE", Default: "chat", Help: "API of the server: " + strings.Join(api.Kinds(), ", "), To: option.Func(func(v string) error {
			k, err := api.Parse(v)
			o.kind = string(k)
			return err
		}).Of(api.Kinds()...)},
		{Long: "endpoint", Also: "custom-endpoint", Arg: "PATH", Help: "path to send requests to, instead of the API's usual path", Secret: secret.URL, To: option.Text(&o.path)},
		{Long: "streaming", Help: "request streamed responses", To: option.Switch(&o.streaming)},
		{Long: "no-streaming", Help: "KServe: request a single response even if the model can stream", To: option.Switch(&o.noStream)},
		{Long: "protocol", Short: 'i', Arg: "PROTOCOL", Help: "protocol to a Triton text model: grpc, or http for its generate endpoint", To: option.OneOf(&o.protocol, string(plan.HTTP), string(plan.GRPC))},
		{Long: "header", Short: 'H', Arg: "NAME:VALUE", Repeat: true, Help: "HTTP header or gRPC metadata to send with every request; also a JSON object with several", Secret: secret.Header, To: headers(&o.headers)},
		{Long: "api-key", Arg: "KEY", Help: "API key, sent as Authorization: Bearer KEY (Anthropic: as x-api-key)", Secret: secret.Whole, To: option.Text(&o.apiKey)},
		{Long: "api-key-env", Arg: "VARIABLE", Help: "environment variable that contains the API key", To: option.Text(&o.apiKeyEnv)},
		{Long: "extra-inputs", Also: "extra-body", Arg: "NAME:VALUE", Repeat: true, Help: "field to add to every request body, or model input; also a JSON object with several", Secret: secret.Pair, To: option.Func(o.addExtra)},
		{Long: "template", Arg: "FILE|TEXT", Help: "endpoint type template: template of the request body, Jinja or Go's text/template; see docs/llm.md", To: option.Text(&o.template)},
		{Long: "response-field", Arg: "PATH", Help: "endpoint type template: path of the text in a response, such as choices.0.text", To: option.Text(&o.response)},
		{Long: "usage-fields", Arg: "PATH,PATH", Help: "endpoint type template: paths of the prompt's and the response's token counts in a response", To: option.Text(&o.usage)},
		{Long: "use-legacy-max-tokens", Help: "chat: send the output limit as max_tokens", To: option.Switch(&o.legacy)},
		{Long: "no-usage", Help: "do not request the server's token counts in streams", To: option.Switch(&o.noUsage)},
		{Long: "per-chunk-usage", Help: "request the server's token counts in every chunk (vLLM, TensorRT-LLM)", To: option.Switch(&o.chunks)},
		{Long: "session-header", Arg: "NAME", Help: "header that carries the conversation's id, for routers; X-Request-ID carries the request's id", To: option.Text(&o.session)},
		{Long: "wait-for-model-timeout", Arg: "SECONDS", Help: "wait up to this long for the model to be ready; 0 does not wait", To: seconds(&o.wait.Timeout)},
		{Long: "wait-for-model-mode", Arg: "HOW", Help: "what ready means: models (the model is listed), inference (it responds), or both", To: option.OneOf(&o.wait.Mode, "models", "inference", "both")},
		{Long: "wait-for-model-interval", Arg: "SECONDS", Help: "time between two checks of --wait-for-model-timeout", To: seconds(&o.wait.Every)},
		{Long: "request-timeout-seconds", Arg: "SECONDS", Help: "time limit of a request; a request that takes longer fails", To: seconds(&o.timeout)},
		{Long: "max-response-bytes", Arg: "N", Default: strconv.Itoa(plan.DefaultMaxResponse), Help: "size limit of a response, decompressed and with all its events; a request with a larger response fails", To: option.Bytes(&o.largest, 1, plan.MostResponse)},
		{Long: "http-version", Arg: "VERSION", Help: "HTTP version: auto, 1.1 or 2", To: plan.HTTPVersion(&o.http)},
		{Long: "ssl-grpc-use-ssl", Help: "gRPC: use TLS", To: option.Switch(&o.grpcTLS)},
		{Long: "ca-file", Also: "ssl-https-ca-certificates-file ssl-grpc-root-certifications-file", Arg: "FILE", Help: "PEM file of certificate authorities to trust, instead of the system's", To: option.Text(&o.tls.CAFile)},
		{Long: "cert-file", Also: "ssl-https-client-certificate-file ssl-grpc-certificate-chain-file", Arg: "FILE", Help: "PEM file of this client's certificate", To: option.Text(&o.tls.CertFile)},
		{Long: "key-file", Also: "ssl-https-private-key-file ssl-grpc-private-key-file", Arg: "FILE", Help: "PEM file of this client's private key", To: option.Text(&o.tls.KeyFile)},
		{Long: "insecure", Help: "do not verify the server's certificate", To: option.Switch(&o.insecure)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&o.embedded)},
	})
}

func (o *options) loadRows() []option.Row {
	return option.Group("Load", []option.Row{
		{Long: "concurrency", Also: "session-concurrency", Arg: "LIST", Help: "closed loop: number of conversations at once, one level for each number, such as 1,4,8 or 1:8:1; with --request-rate, " +
			"the limit of requests in flight", To: option.Parsed(&o.concurrency, intList)},
		{Long: "request-rate", Arg: "LIST", Help: "open loop: requests per second, one level for each number, such as 5,10", To: option.Parsed(&o.rates, floatList)},
		{Long: "arrival-pattern", Also: "request-rate-mode", Arg: "NAME", Default: "poisson", Help: "distribution of the gaps between requests: constant, poisson or gamma; concurrency_burst is the closed loop of --concurrency", To: option.Func(func(v string) (err error) {
			if o.closed = v == closedLoop; !o.closed {
				o.arrival, err = load.ParseArrival(v)
			}
			return err
		}).Of(string(load.Constant), string(load.Poisson), string(load.Gamma), closedLoop)},
		{Long: "request-rate-series", Arg: "FILE", Help: `JSON file of rates over time, [{"time_s":0,"qps":5}, ...]; the rate changes linearly between two points`, To: option.Func(func(v string) (err error) {
			if o.stages != nil {
				return errors.New("and --stages exclude each other")
			}
			o.stages, err = load.ReadRates(v)
			return err
		})},
		{Long: "arrival-smoothness", Also: "vllm-burstiness", Arg: "SHAPE", Help: "shape of the gamma distribution: 1 is Poisson, higher is more even", To: option.Float(&o.smoothness, 0, 1e6)},
		{Long: "stages", Arg: "LIST", Help: `rates of one level, one after another: "10:30s,50:1m"; "10-50:30s" rises from 10 to 50`, To: option.Func(func(v string) (err error) {
			if o.stages != nil {
				return errors.New("is given twice, or besides --request-rate-series")
			}
			o.stages, err = pace.ParseStages(v)
			return err
		})},
		{Long: "concurrency-stages", Arg: "LIST", Help: `numbers of conversations of one level, one after another: "8:30s,32:1m"; "8-32:30s" rises from 8 to 32`, To: option.Parsed(&o.sessionStages, pace.ParseStages)},
		{Long: "concurrency-ramp-duration", Arg: "SECONDS", Help: "time over which the conversations start, one after another", To: seconds(&o.ramp)},
		{Long: "request-rate-ramp-duration", Arg: "SECONDS", Help: "time over which the rate rises from 0 to --request-rate", To: seconds(&o.rateRamp)},
		{Long: "think-time", Arg: "DURATION[±SPREAD]", Default: "0s", Help: "closed loop: wait this long after a request has ended before the next is sent in its place, such as 100ms or " +
			"100ms±20ms (uniform, drawn from --random-seed; +- stands for ±); no latency includes it", To: option.Parsed(&o.thinkTime, pace.ParseThinkTime)},
		{Long: "prefill-concurrency", Arg: "N", Help: "limit of requests that wait for their first token", To: option.Int(&o.prefill, 0)},
		{Long: "user-centric-rate", Arg: "RATE", Help: "requests per second of all users together; each user sends at constant intervals", To: option.Float(&o.userRate, 0, 1e9)},
		{Long: "num-users", Arg: "N", Help: "number of users of --user-centric-rate", To: option.Int(&o.users, 0)},
		{Long: "fixed-schedule", Help: "send each request at its timestamp in the input file", To: option.Switch(&o.fixed)},
		{Long: "no-fixed-schedule", Help: "ignore timestamps in the input file", To: option.Switch(&o.noFix)},
		{Long: "segment", Arg: "NUMBER/COUNT", Help: "send one part of the load: 2/5 is the second of five equal parts. Start all parts with the same options, on several " +
			"machines; together they send exactly the requests of one run without this option", To: option.Parsed(&o.segment, segment.Parse)},
		{Long: "replay-speedup", Also: "synthesis-speedup-ratio", Arg: "FACTOR", Help: "divide the times of a schedule by this factor", To: option.Float(&o.data.Trace.Speedup, 0, 1e9)},
		{Long: "fixed-schedule-start-offset", Arg: "MS", Help: "skip requests of the schedule before this time", To: option.Time(&o.data.Trace.Start, time.Millisecond)},
		{Long: "fixed-schedule-end-offset", Arg: "MS", Help: "skip requests of the schedule after this time", To: option.Time(&o.data.Trace.End, time.Millisecond)},
		{Long: "fixed-schedule-auto-offset", Help: "make the first request of a schedule due at the start of the level, as without the option", To: option.Switch(&o.data.Trace.AutoOffset)},
		{Long: "no-fixed-schedule-auto-offset", Help: "keep the time before the first request of a schedule", To: option.SwitchOff(&o.data.Trace.AutoOffset)},
		{Long: "request-cancellation-rate", Arg: "PERCENT", Help: "percentage of requests that the client cancels", To: option.Float(&o.cancelRate, 0, 100)},
		{Long: "request-cancellation-delay", Arg: "SECONDS", Help: "cancel these requests this long after they were sent", To: seconds(&o.cancelDelay)},
		{Long: "request-cancellation-tokens", Arg: "PERCENT", Help: "cancel these requests after this percentage of the requested tokens", To: option.Float(&o.cancelTokens, 0, 100)},
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
	return option.Group("Measurement: length, limits and repeats", []option.Row{
		{Long: "request-count", Also: "num-requests", Arg: "N", Help: "number of requests of a level", To: option.Int(&o.requests, 1)},
		{Long: "num-conversations", Also: "num-sessions conversation-num", Arg: "LIST", Help: "number of conversations of a level; a list, as 10,20, measures a level for each", To: option.Parsed(&o.sessionCounts, intList)},
		{Long: "benchmark-duration", Also: "duration", Arg: "SECONDS", Help: "duration of a level", To: seconds(&o.duration)},
		{Long: "benchmark-grace-period", Arg: "SECONDS", Help: "how long to wait for requests in flight after --benchmark-duration; inf waits for all", To: endlessSeconds(&o.grace)},
		{Long: "cooldown-duration", Arg: "SECONDS", Help: "do not count requests sent in this last part of --benchmark-duration", To: seconds(&o.cooldown)},
		{Long: "max-errors", Arg: "N", Help: "end a level after this many failed requests", To: option.Int(&o.maxErrors, 0)},
		{Long: "max-error-rate", Arg: "PERCENT", Help: "percentage of failed requests above which a level is not valid; if the option is given, the level also ends there", To: option.Percent(&o.maxErrorRate, 100)},
		{Long: "failed-request-threshold", Arg: "SHARE", Help: "--max-error-rate as a share from 0 to 1", To: option.Float(&o.maxErrorRate, 0, 1)},
		{Long: "until", Arg: "TARGET", Help: `end a level when the confidence interval of a metric is narrow enough: "ttft.p99 ± 5 %"`, To: option.Text(&o.until)},
		{Long: "goodput", Short: 'g', Arg: "LIST", Repeat: true, Help: `count requests that meet these bounds, times in ms or with a unit: "ttft:200 itl:20" or "ttft:0.2s"`, To: option.Func(func(v string) error {
			o.goodput = strings.TrimSpace(o.goodput + " " + v)
			return nil
		})},
		{Long: "runs", Also: "num-profile-runs", Arg: "N", Help: "measure each level N times; confidence intervals are then computed over the repeats", To: option.Int(&o.runs, 1)},
		{Long: "calibrate", Help: "after the run, measure the error of token times on a reference server on this machine, at the pace of each level; takes up to 4 seconds per level", To: option.Switch(&o.calibrate)},
		{Long: "profile-run-cooldown-seconds", Arg: "SECONDS", Help: "pause between the repeats of --runs", To: seconds(&o.runPause)},
		{Long: "no-vary-seed-per-trial", Help: "send the same prompts at the same times in every repeat of --runs; a prefix cache may then contain them", To: option.Switch(&o.sameSeed)},
		{Long: "vary-seed-per-trial", Help: "send different prompts in every repeat of --runs, as without the option", To: option.SwitchOff(&o.sameSeed)},
		{Long: "profile-run-disable-warmup-after-first", Help: "warm up before the first repeat of --runs only", To: option.Switch(&o.warmOnce)},
		{Long: "no-profile-run-disable-warmup-after-first", Help: "warm up before every repeat of --runs, as without the option", To: option.SwitchOff(&o.warmOnce)},
		{Long: "parameter-sweep-cooldown-seconds", Arg: "SECONDS", Help: "pause between levels", To: seconds(&o.pause)},
		{Long: "confidence-level", Arg: "SHARE", Help: "confidence level of intervals; 0 computes no intervals", To: option.Float(&o.confidence, 0, 0.9999)},
	})
}

func (o *options) outputRows() []option.Row {
	return option.Group("Output", []option.Row{
		{Long: "artifact-dir", Also: "output-artifact-dir output-dir", Arg: "DIR", Default: "artifacts/MODEL-openai-TYPE-LEVEL if an option needs a folder, else none", Help: "folder for result files in AIPerf's formats, with one subfolder per level", To: option.Text(&o.artifacts)},
		{Long: "profile-export-prefix", Also: "profile-export-file", Arg: "NAME", Help: "prefix of the names of the files in --artifact-dir", To: option.Text(&o.prefix)},
		{Long: "exports", Arg: "LIST", Help: "files to write to --artifact-dir: summary, csv, records, inputs, outputs, raw, slices, profile, genai, vllm, parquet, all", To: option.Text(&o.exports)},
		{Long: "export-level", Also: "profile-export-level", Arg: "LEVEL", Help: "files to write to --artifact-dir, by AIPerf's levels: summary, records or raw", To: option.OneOf(&o.exportLevel, "summary", "records", "raw")},
		{Long: "export-outputs-json", Help: "write the texts of the responses to outputs.json, like --exports outputs", To: option.Switch(&o.outputs)},
		{Long: "slice-duration", Arg: "SECONDS", Help: "length of the time slices of --exports slices", To: seconds(&o.sliceEvery)},
		{Long: "server-metrics-formats", Arg: "LIST", Repeat: true, Default: "json,csv", Help: "files to write for --server-metrics: json, csv, jsonl", To: option.Func(func(v string) error {
			o.scrapeForms = strings.Trim(o.scrapeForms+","+v, ",")
			return checkScrapeForms(o.scrapeForms)
		}).Of("json", "csv", "jsonl")},
		{Long: "gpu-telemetry", Arg: "[URL]", Optional: true, Repeat: true, Help: "read GPU metrics from this URL of NVIDIA's DCGM exporter during the run, without a URL from port 9400 or 9401 of this machine; see docs/outputs.md", Secret: secret.URL, To: option.Func(func(v string) error {
			o.findGPUs = o.findGPUs || v == ""
			list, err := gpuPages(v)
			o.gpus = append(o.gpus, list...)
			return err
		})},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result as JSON", To: option.Text(&o.json)},
		{Long: "save-scenario", Arg: "FILE", Writes: true, Help: "save the run as a scenario: 'redline run FILE' repeats it", To: option.Text(&o.save)},
		{Long: "console", Arg: "FORM", Help: "form of the report on the console: table or blocks; -i, --input-data and --tokenizer-path select blocks", To: option.OneOf(&o.console, "table", "blocks")},
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
