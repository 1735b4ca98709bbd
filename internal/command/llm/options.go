package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/llm/ready"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// options are the options of `redline llm` as they were given.
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
	maxErrorRate  float64 // per cent
	endAtErrors   bool    // maxErrorRate was given: it also ends a level
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

	set *optset.Set // what the options were read from
}

// defaults are the options where nothing is given.
func defaults() *options {
	return &options{
		maxErrorRate: 100 * plan.DefaultErrorRate,
		arrival:      load.Poisson, smoothness: 0, grace: 30 * time.Second, runs: 1, confidence: 0.95,
		outcome: plan.DefaultOutcome(),
		extra:   map[string]json.RawMessage{}, timeout: 6 * time.Hour, session: "X-Correlation-ID",
		wait: ready.Wait{Mode: "inference", Every: 5 * time.Second},
		data: dataset.Options{Input: dataset.Lengths{Mean: 550}, Trace: dataset.Trace{AutoOffset: true}},
	}
}

// optionSet is the table of the options.
func optionSet(o *options) *optset.Set {
	s := &optset.Set{}
	addTarget(s, o)
	addLoad(s, o)
	addStop(s, o)
	addWarmUp(s, o)
	addPrompts(s, o)
	addShape(s, o)
	addMedia(s, o)
	addOutput(s, o)
	addIgnored(s)
	return s
}

func addTarget(s *optset.Set, o *options) {
	s.Group("Server")
	s.Text(&o.model, "model,m", "NAME", "name of the model; with a comma-separated list, each conversation uses one of the models")
	s.Alias("model", "model-names")
	s.Var("model-selection-strategy", "NAME", "round_robin", "how a conversation's model is chosen from the list: round_robin or random", func(v string) error {
		v = strings.ReplaceAll(v, "-", "_")
		o.data.DrawnModels = v == "random"
		if v != "round_robin" && v != "random" {
			return fmt.Errorf("is round_robin or random, not %q", v)
		}
		return nil
	})
	s.Var("url,u", "ADDR", "", "address of the server; requests go to several addresses in turn (comma-separated, or repeat the option)", func(v string) error {
		o.urls = append(o.urls, strings.Split(v, ",")...)
		return nil
	})
	s.Var("endpoint-type", "TYPE", "chat", "API of the server: "+strings.Join(api.Kinds(), ", "), func(v string) error {
		k, err := api.Parse(v)
		o.kind = string(k)
		return err
	})
	s.Text(&o.path, "endpoint", "PATH", "path to send requests to, instead of the API's usual path")
	s.Secret(secret.URL, "url", "endpoint")
	s.Alias("endpoint", "custom-endpoint")
	s.Bool(&o.streaming, "streaming", "request streamed responses")
	s.Bool(&o.noStream, "no-streaming", "KServe: request a single response even if the model can stream")
	optset.OneOf(s, &o.protocol, "protocol,i", "PROTOCOL", "protocol to a Triton text model: grpc, or http for its generate endpoint",
		string(plan.HTTP), string(plan.GRPC))
	s.Var("header,H", "NAME:VALUE", "", "HTTP header or gRPC metadata to send with every request; may be repeated", o.addHeader)
	s.Text(&o.apiKey, "api-key", "KEY", "API key, sent as Authorization: Bearer KEY (Anthropic: as x-api-key)")
	s.Secret(secret.Header, "header")
	s.Secret(secret.Whole, "api-key")
	s.Text(&o.apiKeyEnv, "api-key-env", "VARIABLE", "environment variable that contains the API key")
	s.Var("extra-inputs", "NAME:VALUE", "", "field to add to every request body, or model input; also a JSON object with several; may be repeated", o.addExtra)
	s.Secret(secret.Pair, "extra-inputs")
	s.Alias("extra-inputs", "extra-body")
	s.Text(&o.template, "template", "FILE", "endpoint type template: Go text/template of the request body; see docs/llm.md")
	s.Text(&o.response, "response-field", "PATH", "endpoint type template: path of the text in a response, such as choices.0.text")
	s.Text(&o.usage, "usage-fields", "PATH,PATH", "endpoint type template: paths of the prompt's and the response's token counts in a response")
	s.Bool(&o.legacy, "use-legacy-max-tokens", "chat: send the output limit as max_tokens")
	s.Bool(&o.noUsage, "no-usage", "do not request the server's token counts in streams")
	s.Bool(&o.chunks, "per-chunk-usage", "request the server's token counts in every chunk (vLLM, TensorRT-LLM)")
	s.Text(&o.session, "session-header", "NAME", "header that carries the conversation's id, for routers; X-Request-ID carries the request's id")
	o.time(s, &o.wait.Timeout, "wait-for-model-timeout", "wait up to this long for the model to be ready; 0 does not wait")
	optset.OneOf(s, &o.wait.Mode, "wait-for-model-mode", "HOW", "what ready means: models (the model is listed), inference (it responds), or both", "models", "inference", "both")
	o.time(s, &o.wait.Every, "wait-for-model-interval", "time between two checks of --wait-for-model-timeout")
	o.time(s, &o.timeout, "request-timeout-seconds", "time limit of a request; a request that takes longer fails")
	s.Var("max-response-bytes", "N", strconv.Itoa(plan.DefaultMaxResponse), "size limit of a response, decompressed and with all its events; a request with a larger response fails", func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 || n > plan.MostResponse {
			return fmt.Errorf("is a number of bytes from 1 to %d, not %q", int64(plan.MostResponse), v)
		}
		o.largest = n
		return nil
	})
	s.Var("http-version", "VERSION", "auto", "HTTP version: auto, 1.1 or 2", func(v string) error {
		if v != "auto" && v != "1.1" && v != "2" {
			return fmt.Errorf("is auto, 1.1 or 2, not %q", v)
		}
		o.http = strings.TrimPrefix(v, "auto")
		return nil
	})
	s.Bool(&o.grpcTLS, "ssl-grpc-use-ssl", "gRPC: use TLS")
	s.Text(&o.tls.CAFile, "ca-file", "FILE", "PEM file of certificate authorities to trust, instead of the system's")
	s.Alias("ca-file", "ssl-https-ca-certificates-file", "ssl-grpc-root-certifications-file")
	s.Text(&o.tls.CertFile, "cert-file", "FILE", "PEM file of this client's certificate")
	s.Alias("cert-file", "ssl-https-client-certificate-file", "ssl-grpc-certificate-chain-file")
	s.Text(&o.tls.KeyFile, "key-file", "FILE", "PEM file of this client's private key")
	s.Alias("key-file", "ssl-https-private-key-file", "ssl-grpc-private-key-file")
	s.Bool(&o.insecure, "insecure", "do not verify the server's certificate")
	s.Bool(&o.embedded, "embedded", "start the reference server for this run")
}

func addLoad(s *optset.Set, o *options) {
	s.Group("Load")
	s.Var("concurrency", "LIST", "", "closed loop: number of conversations at once, one level for each number, such as 1,4,8 or 1:8:1; with --request-rate, the limit of requests in flight", func(v string) error {
		var err error
		o.concurrency, err = intList(v)
		return err
	})
	s.Var("request-rate", "LIST", "", "open loop: requests per second, one level for each number, such as 5,10", func(v string) error {
		var err error
		o.rates, err = floatList(v)
		return err
	})
	s.Var("arrival-pattern", "NAME", "poisson", "distribution of the gaps between requests: constant, poisson or gamma", func(v string) error {
		var err error
		o.arrival, err = load.ParseArrival(v)
		return err
	})
	s.Alias("arrival-pattern", "request-rate-mode")
	s.Var("request-rate-series", "FILE", "", `JSON file of rates over time, [{"time_s":0,"qps":5}, ...]; the rate changes linearly between two points`, func(v string) error {
		var err error
		if o.stages != nil {
			return errors.New("and --stages exclude each other")
		}
		o.stages, err = load.ReadRates(v)
		return err
	})
	s.Float(&o.smoothness, "arrival-smoothness", "SHAPE", 0, 1e6, "shape of the gamma distribution: 1 is Poisson, higher is more even")
	s.Alias("arrival-smoothness", "vllm-burstiness")
	s.Var("stages", "LIST", "", `rates of one level, one after another: "10:30s,50:1m"; "10-50:30s" rises from 10 to 50`, func(v string) error {
		var err error
		if o.stages != nil {
			return errors.New("is given twice, or besides --request-rate-series")
		}
		o.stages, err = stageList(v)
		return err
	})
	s.Var("concurrency-stages", "LIST", "", `numbers of conversations of one level, one after another: "8:30s,32:1m"; "8-32:30s" rises from 8 to 32`, func(v string) error {
		var err error
		o.sessionStages, err = stageList(v)
		return err
	})
	o.time(s, &o.ramp, "concurrency-ramp-duration", "time over which the conversations start, one after another")
	o.time(s, &o.rateRamp, "request-rate-ramp-duration", "time over which the rate rises from 0 to --request-rate")
	s.Var("think-time", "DURATION[±SPREAD]", "0s", "closed loop: wait this long after a request has ended before the next is sent in its place, such as 100ms or 100ms±20ms "+
		"(uniform, drawn from --random-seed; +- stands for ±); no latency includes it", func(v string) (err error) {
		o.thinkTime, err = pace.ParseThinkTime(v)
		return err
	})
	s.Int(&o.prefill, "prefill-concurrency", "N", 0, "limit of requests that wait for their first token")
	s.Float(&o.userRate, "user-centric-rate", "RATE", 0, 1e9, "requests per second of all users together; each user sends at constant intervals")
	s.Int(&o.users, "num-users", "N", 0, "number of users of --user-centric-rate")
	s.Bool(&o.fixed, "fixed-schedule", "send each request at its timestamp in the input file")
	s.Bool(&o.noFix, "no-fixed-schedule", "ignore timestamps in the input file")
	s.Float(&o.data.Trace.Speedup, "replay-speedup", "FACTOR", 0, 1e9, "divide the times of a schedule by this factor")
	s.Alias("replay-speedup", "synthesis-speedup-ratio")
	s.Var("fixed-schedule-start-offset", "MS", "", "skip requests of the schedule before this time", millisTo(&o.data.Trace.Start))
	s.Var("fixed-schedule-end-offset", "MS", "", "skip requests of the schedule after this time", millisTo(&o.data.Trace.End))
	s.Var("fixed-schedule-auto-offset", "", "", "make the first request of a schedule due at the start of the level (default)", func(string) error {
		o.data.Trace.AutoOffset = true
		return nil
	})
	s.Var("no-fixed-schedule-auto-offset", "", "", "keep the time before the first request of a schedule", func(string) error {
		o.data.Trace.AutoOffset = false
		return nil
	})
	s.Float(&o.cancelRate, "request-cancellation-rate", "PERCENT", 0, 100, "percentage of requests that the client cancels")
	o.time(s, &o.cancelDelay, "request-cancellation-delay", "cancel these requests this long after they were sent")
	s.Float(&o.cancelTokens, "request-cancellation-tokens", "PERCENT", 0, 100, "cancel these requests after this percentage of the requested tokens")
}

// endingErrorRate is the share of failed requests that ends a level; 0 is none.
func (o *options) endingErrorRate() float64 {
	if !o.endAtErrors {
		return 0
	}
	return o.maxErrorRate / 100
}

func addStop(s *optset.Set, o *options) {
	s.Group("Measurement: length, limits and repeats")
	s.Int(&o.requests, "request-count", "N", 1, "number of requests of a level")
	s.Alias("request-count", "num-requests")
	s.Int(&o.sessions, "num-conversations", "N", 1, "number of conversations of a level")
	s.Alias("num-conversations", "num-sessions", "conversation-num")
	o.time(s, &o.duration, "benchmark-duration", "duration of a level")
	o.endless(s, &o.grace, "benchmark-grace-period", "how long to wait for requests in flight after --benchmark-duration; inf waits for all")
	o.time(s, &o.cooldown, "cooldown-duration", "do not count requests sent in this last part of --benchmark-duration")
	s.Int(&o.maxErrors, "max-errors", "N", 0, "end a level after this many failed requests")
	s.Var("max-error-rate", "PERCENT", "1", "percentage of failed requests above which a level is not valid; if the option is given, the level also ends there", func(v string) error {
		f, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return fmt.Errorf("is a percentage from 0 to 100, not %q", v)
		}
		o.maxErrorRate, o.endAtErrors = f, true
		return nil
	})
	s.Var("failed-request-threshold", "SHARE", "", "--max-error-rate as a share from 0 to 1", func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || f < 0 || f > 1 {
			return fmt.Errorf("is a number from 0 to 1, not %q", v)
		}
		o.maxErrorRate, o.endAtErrors = f*100, true
		return nil
	})
	s.Text(&o.until, "until", "TARGET", `end a level when the confidence interval of a metric is narrow enough: "ttft.p99 ± 5 %"`)
	s.Var("goodput", "LIST", "", `count requests that meet these bounds, in ms: "ttft:200 itl:20"`, func(v string) error {
		o.goodput = strings.TrimSpace(o.goodput + " " + v)
		return nil
	})
	s.Int(&o.runs, "runs", "N", 1, "measure each level N times; confidence intervals are then computed over the repeats")
	s.Bool(&o.calibrate, "calibrate", "after the run, measure the error of token times on a reference server on this machine, at the pace of each level; "+
		"takes up to 4 seconds per level")
	s.Alias("runs", "num-profile-runs")
	o.time(s, &o.runPause, "profile-run-cooldown-seconds", "pause between the repeats of --runs")
	o.switches(s, &o.sameSeed, "no-vary-seed-per-trial", "vary-seed-per-trial", "send the same prompts at the same times in every repeat of --runs; a prefix cache may then contain them")
	o.switches(s, &o.warmOnce, "profile-run-disable-warmup-after-first", "no-profile-run-disable-warmup-after-first", "warm up before the first repeat of --runs only")
	o.time(s, &o.pause, "parameter-sweep-cooldown-seconds", "pause between levels")
	s.Float(&o.confidence, "confidence-level", "SHARE", 0, 0.9999, "confidence level of intervals; 0 computes no intervals")
}

func addOutput(s *optset.Set, o *options) {
	s.Group("Output")
	s.Text(&o.artifacts, "artifact-dir", "DIR", "folder for result files in AIPerf's formats, with one subfolder per level")
	s.Alias("artifact-dir", "output-artifact-dir")
	s.Text(&o.prefix, "profile-export-prefix", "NAME", "prefix of the names of the files in --artifact-dir")
	s.Alias("profile-export-prefix", "profile-export-file")
	s.Text(&o.exports, "exports", "LIST", "files to write to --artifact-dir: summary, csv, records, inputs, outputs, raw, slices, profile, genai, vllm, parquet, all")
	optset.OneOf(s, &o.exportLevel, "export-level", "LEVEL", "files to write to --artifact-dir, by AIPerf's levels: summary, records or raw", "summary", "records", "raw")
	s.Alias("export-level", "profile-export-level")
	s.Var("export-outputs-json", "", "", "write the texts of the responses to outputs.json, like --exports outputs", func(string) error {
		o.outputs = true
		return nil
	})
	o.time(s, &o.sliceEvery, "slice-duration", "length of the time slices of --exports slices")
	s.Var("server-metrics", "URL", "", "read Prometheus metrics from this URL during the run; see docs/outputs.md; may be repeated", func(v string) error {
		o.scrape = append(o.scrape, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	s.Var("server-metrics-formats", "LIST", "json,csv", "files to write for --server-metrics: json, csv, jsonl", func(v string) error {
		o.scrapeForms = strings.Trim(o.scrapeForms+","+v, ",")
		return checkScrapeForms(o.scrapeForms)
	})
	s.Var("gpu-telemetry", "URL", "", "read GPU metrics from this URL of NVIDIA's DCGM exporter during the run; see docs/outputs.md; may be repeated", func(v string) error {
		list, err := gpuPages(v)
		o.gpus = append(o.gpus, list...)
		return err
	})
	s.Secret(secret.URL, "server-metrics", "gpu-telemetry")
	s.Text(&o.json, "json", "FILE", "write the whole result as JSON")
	for _, opt := range plan.OutcomeOptions() {
		s.Var(opt.Long, opt.Arg, opt.Default, plain(opt.Help), func(v string) error { return opt.Set(&o.outcome, v) })
	}
	s.Var("console", "FORM", "", "form of the report on the console: table, or seed for the blocks that -i, --input-data and --tokenizer-path select", func(v string) error {
		if v != "table" && v != "seed" {
			return fmt.Errorf("is table or seed, not %q", v)
		}
		o.console = v
		return nil
	})
	s.Bool(&o.verbose, "verbose,v", "print every metric, confidence intervals, and the source of each token count")
	s.Alias("verbose", "extra-verbose")
}

// plain is a sentence as the help of this command has it.
func plain(sentence string) string {
	text := strings.TrimSuffix(sentence, ".")
	return strings.ToLower(text[:1]) + text[1:]
}

// time adds an option for a time: seconds, or a number with its unit.
func (o *options) time(s *optset.Set, to *time.Duration, name, help string) {
	value := ""
	if *to > 0 {
		value = strconv.FormatFloat(to.Seconds(), 'g', -1, 64)
	}
	s.Var(name, "SECONDS", value, help, func(v string) error {
		d, err := seconds(v)
		*to = d
		return err
	})
}

// endless adds an option for a time that may have no end.
func (o *options) endless(s *optset.Set, to *time.Duration, name, help string) {
	value := ""
	if *to > 0 {
		value = strconv.FormatFloat(to.Seconds(), 'g', -1, 64)
	}
	s.Var(name, "SECONDS", value, help, func(v string) error {
		if strings.EqualFold(v, "inf") {
			*to = 10 * 365 * 24 * time.Hour
			return nil
		}
		d, err := seconds(v)
		*to = d
		return err
	})
}

// switches adds an option and the option that undoes it.
func (o *options) switches(s *optset.Set, to *bool, name, undo, help string) {
	s.Bool(to, name, help)
	s.Var(undo, "", "", "undo --"+name+" (default)", func(string) error { *to = false; return nil })
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
