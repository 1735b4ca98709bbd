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
	s.Text(&o.model, "model,m", "NAME", "model to ask for; several, by commas, take turns, conversation by conversation")
	s.Alias("model", "model-names")
	s.Var("model-selection-strategy", "NAME", "round_robin", "how: round_robin or random", func(v string) error {
		v = strings.ReplaceAll(v, "-", "_")
		o.data.DrawnModels = v == "random"
		if v != "round_robin" && v != "random" {
			return fmt.Errorf("is round_robin or random, not %q", v)
		}
		return nil
	})
	s.Var("url,u", "ADDR", "", "where the server listens; several, by commas or repeated, take turns", func(v string) error {
		o.urls = append(o.urls, strings.Split(v, ",")...)
		return nil
	})
	s.Var("endpoint-type", "TYPE", "chat", "the API: "+strings.Join(api.Kinds(), ", "), func(v string) error {
		k, err := api.Parse(v)
		o.kind = string(k)
		return err
	})
	s.Text(&o.path, "endpoint", "PATH", "path of the API in place of its usual one")
	s.Secret(secret.URL, "url", "endpoint")
	s.Alias("endpoint", "custom-endpoint")
	s.Bool(&o.streaming, "streaming", "ask for answers as streams")
	s.Bool(&o.noStream, "no-streaming", "KServe: one answer even where the model streams")
	optset.OneOf(s, &o.protocol, "protocol,i", "PROTOCOL", "a Triton text model: over grpc, or by HTTP's generate",
		string(plan.HTTP), string(plan.GRPC))
	s.Var("header,H", "NAME:VALUE", "", "header of every request, or gRPC metadata; may be repeated", o.addHeader)
	s.Text(&o.apiKey, "api-key", "KEY", "key that is sent as Authorization: Bearer, Anthropic's as x-api-key")
	s.Secret(secret.Header, "header")
	s.Secret(secret.Whole, "api-key")
	s.Text(&o.apiKeyEnv, "api-key-env", "VARIABLE", "take the key from this variable of the environment")
	s.Var("extra-inputs", "NAME:VALUE", "", "field of every body, or input of the model; or a JSON object of them; may be repeated", o.addExtra)
	s.Secret(secret.Pair, "extra-inputs")
	s.Alias("extra-inputs", "extra-body")
	s.Text(&o.template, "template", "FILE", "template: Go text/template of the body; see docs/llm.md")
	s.Text(&o.response, "response-field", "PATH", "template: where the text stands in an answer, as choices.0.text")
	s.Text(&o.usage, "usage-fields", "PATH,PATH", "template: where the counts of prompt and answer stand")
	s.Bool(&o.legacy, "use-legacy-max-tokens", "chat: name the limit max_tokens")
	s.Bool(&o.noUsage, "no-usage", "do not ask streams for the server's token counts")
	s.Bool(&o.chunks, "per-chunk-usage", "ask for them in every chunk (vLLM, TensorRT-LLM)")
	s.Text(&o.session, "session-header", "NAME", "header with an id of the conversation, for routers; each request has one in X-Request-ID")
	o.time(s, &o.wait.Timeout, "wait-for-model-timeout", "wait so long until the model answers; 0 does not wait")
	optset.OneOf(s, &o.wait.Mode, "wait-for-model-mode", "HOW", "models (it is listed), inference (it answers), or both", "models", "inference", "both")
	o.time(s, &o.wait.Every, "wait-for-model-interval", "time between two tries")
	o.time(s, &o.timeout, "request-timeout-seconds", "a request that takes longer fails")
	s.Var("max-response-bytes", "N", strconv.Itoa(plan.DefaultMaxResponse), "largest response, unpacked and with all its events; a larger one fails", func(v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 || n > plan.MostResponse {
			return fmt.Errorf("is a number of bytes from 1 to %d, not %q", int64(plan.MostResponse), v)
		}
		o.largest = n
		return nil
	})
	s.Var("http-version", "VERSION", "auto", "auto, 1.1 or 2", func(v string) error {
		if v != "auto" && v != "1.1" && v != "2" {
			return fmt.Errorf("is auto, 1.1 or 2, not %q", v)
		}
		o.http = strings.TrimPrefix(v, "auto")
		return nil
	})
	s.Bool(&o.grpcTLS, "ssl-grpc-use-ssl", "gRPC: use TLS")
	s.Text(&o.tls.CAFile, "ca-file", "FILE", "authorities to trust, as PEM, instead of the system's")
	s.Alias("ca-file", "ssl-https-ca-certificates-file", "ssl-grpc-root-certifications-file")
	s.Text(&o.tls.CertFile, "cert-file", "FILE", "certificate of this client")
	s.Alias("cert-file", "ssl-https-client-certificate-file", "ssl-grpc-certificate-chain-file")
	s.Text(&o.tls.KeyFile, "key-file", "FILE", "its private key")
	s.Alias("key-file", "ssl-https-private-key-file", "ssl-grpc-private-key-file")
	s.Bool(&o.insecure, "insecure", "do not check the server's certificate")
	s.Bool(&o.embedded, "embedded", "start a server of our own for the run")
}

func addLoad(s *optset.Set, o *options) {
	s.Group("Load")
	s.Var("concurrency", "LIST", "", "conversations at once, one level each: 1,4,8 or 1:8:1; with a rate, the most in flight", func(v string) error {
		var err error
		o.concurrency, err = intList(v)
		return err
	})
	s.Var("request-rate", "LIST", "", "requests a second, one level each", func(v string) error {
		var err error
		o.rates, err = floatList(v)
		return err
	})
	s.Var("arrival-pattern", "NAME", "poisson", "spread of requests at a rate: constant, poisson or gamma", func(v string) error {
		var err error
		o.arrival, err = load.ParseArrival(v)
		return err
	})
	s.Alias("arrival-pattern", "request-rate-mode")
	s.Var("request-rate-series", "FILE", "", `rates over time as JSON: [{"time_s":0,"qps":5}, ...], straight lines between them`, func(v string) error {
		var err error
		if o.stages != nil {
			return errors.New("and --stages exclude each other")
		}
		o.stages, err = load.ReadRates(v)
		return err
	})
	s.Float(&o.smoothness, "arrival-smoothness", "SHAPE", 0, 1e6, "shape of gamma arrivals: 1 is Poisson, more is smoother")
	s.Alias("arrival-smoothness", "vllm-burstiness")
	s.Var("stages", "LIST", "", `rates one after the other in one level: "10:30s,50:1m", "10-50:30s" rises`, func(v string) error {
		var err error
		if o.stages != nil {
			return errors.New("is given twice, or besides --request-rate-series")
		}
		o.stages, err = stageList(v)
		return err
	})
	s.Var("concurrency-stages", "LIST", "", "the same with numbers of conversations", func(v string) error {
		var err error
		o.sessionStages, err = stageList(v)
		return err
	})
	o.time(s, &o.ramp, "concurrency-ramp-duration", "start the conversations one after the other over this time")
	o.time(s, &o.rateRamp, "request-rate-ramp-duration", "rise from no requests to the rate over this time")
	s.Var("think-time", "DURATION[±SPREAD]", "0s", "closed loop: wait this long after a request has ended before the next is sent in its place, as 100ms or 100ms±20ms "+
		"(uniform, drawn from --random-seed; +- stands for ±); no latency includes it", func(v string) (err error) {
		o.thinkTime, err = pace.ParseThinkTime(v)
		return err
	})
	s.Int(&o.prefill, "prefill-concurrency", "N", 0, "at most N requests wait for their first token at once")
	s.Float(&o.userRate, "user-centric-rate", "RATE", 0, 1e9, "requests a second of all users together, each at its own even pace")
	s.Int(&o.users, "num-users", "N", 0, "users of --user-centric-rate")
	s.Bool(&o.fixed, "fixed-schedule", "send at the times of the input file")
	s.Bool(&o.noFix, "no-fixed-schedule", "leave the times of the input file alone")
	s.Float(&o.data.Trace.Speedup, "replay-speedup", "FACTOR", 0, 1e9, "play a schedule so many times faster")
	s.Alias("replay-speedup", "synthesis-speedup-ratio")
	s.Var("fixed-schedule-start-offset", "MS", "", "leave out what comes before", millisTo(&o.data.Trace.Start))
	s.Var("fixed-schedule-end-offset", "MS", "", "leave out what comes after", millisTo(&o.data.Trace.End))
	s.Var("fixed-schedule-auto-offset", "", "", "the first request of a schedule is due at once (the default)", func(string) error {
		o.data.Trace.AutoOffset = true
		return nil
	})
	s.Var("no-fixed-schedule-auto-offset", "", "", "keep the time before the first request", func(string) error {
		o.data.Trace.AutoOffset = false
		return nil
	})
	s.Float(&o.cancelRate, "request-cancellation-rate", "PERCENT", 0, 100, "share of the requests that the client breaks off")
	o.time(s, &o.cancelDelay, "request-cancellation-delay", "break off after this time")
	s.Float(&o.cancelTokens, "request-cancellation-tokens", "PERCENT", 0, 100, "break off after this share of the tokens asked for")
}

// endingErrorRate is the share of failed requests that ends a level; 0 is none.
func (o *options) endingErrorRate() float64 {
	if !o.endAtErrors {
		return 0
	}
	return o.maxErrorRate / 100
}

func addStop(s *optset.Set, o *options) {
	s.Group("How long, and what counts")
	s.Int(&o.requests, "request-count", "N", 1, "requests of a level")
	s.Alias("request-count", "num-requests")
	s.Int(&o.sessions, "num-conversations", "N", 1, "conversations of a level")
	s.Alias("num-conversations", "num-sessions", "conversation-num")
	o.time(s, &o.duration, "benchmark-duration", "time of a level")
	o.endless(s, &o.grace, "benchmark-grace-period", "how long requests may go on after that; inf waits for all")
	o.time(s, &o.cooldown, "cooldown-duration", "requests that start so close to the end do not count")
	s.Int(&o.maxErrors, "max-errors", "N", 0, "end a level at so many failures")
	s.Var("max-error-rate", "PERCENT", "1", "a level in which more than this share of the requests fails is not valid; when given, the level also ends there", func(v string) error {
		f, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return fmt.Errorf("is a percentage from 0 to 100, not %q", v)
		}
		o.maxErrorRate, o.endAtErrors = f, true
		return nil
	})
	s.Var("failed-request-threshold", "SHARE", "", "the same as a share from 0 to 1", func(v string) error {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || f < 0 || f > 1 {
			return fmt.Errorf("is a number from 0 to 1, not %q", v)
		}
		o.maxErrorRate, o.endAtErrors = f*100, true
		return nil
	})
	s.Text(&o.until, "until", "TARGET", `end a level when an interval is narrow enough: "ttft.p99 ± 5 %"`)
	s.Var("goodput", "LIST", "", `count requests that keep bounds, in ms: "ttft:200 itl:20"`, func(v string) error {
		o.goodput = strings.TrimSpace(o.goodput + " " + v)
		return nil
	})
	s.Int(&o.runs, "runs", "N", 1, "measure each level so often; intervals are then over the runs")
	s.Bool(&o.calibrate, "calibrate", "after the run, measure the error of the times of tokens at the pace of each level on a reference server on this machine; "+
		"up to 4 seconds a level")
	s.Alias("runs", "num-profile-runs")
	o.time(s, &o.runPause, "profile-run-cooldown-seconds", "pause between repeats")
	o.switches(s, &o.sameSeed, "no-vary-seed-per-trial", "vary-seed-per-trial", "repeats ask the same prompts at the same times; a prefix cache may know them by then")
	o.switches(s, &o.warmOnce, "profile-run-disable-warmup-after-first", "no-profile-run-disable-warmup-after-first", "only the first repeat has a warm-up")
	o.time(s, &o.pause, "parameter-sweep-cooldown-seconds", "pause between levels")
	s.Float(&o.confidence, "confidence-level", "SHARE", 0, 0.9999, "of intervals; 0 computes none")
}

func addOutput(s *optset.Set, o *options) {
	s.Group("Output")
	s.Text(&o.artifacts, "artifact-dir", "DIR", "write AIPerf's files there, a folder for each level")
	s.Alias("artifact-dir", "output-artifact-dir")
	s.Text(&o.prefix, "profile-export-prefix", "NAME", "start of the names of those files")
	s.Alias("profile-export-prefix", "profile-export-file")
	s.Text(&o.exports, "exports", "LIST", "which files: summary, csv, records, inputs, outputs, raw, slices, profile, genai, vllm, parquet, all")
	optset.OneOf(s, &o.exportLevel, "export-level", "LEVEL", "the same in AIPerf's words: summary, records or raw", "summary", "records", "raw")
	s.Alias("export-level", "profile-export-level")
	s.Var("export-outputs-json", "", "", "write the texts of the answers to outputs.json, as --exports outputs", func(string) error {
		o.outputs = true
		return nil
	})
	o.time(s, &o.sliceEvery, "slice-duration", "width of the time slices")
	s.Var("server-metrics", "URL", "", "read these pages of Prometheus metrics during the run; see docs/outputs.md; may be repeated", func(v string) error {
		o.scrape = append(o.scrape, strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })...)
		return nil
	})
	s.Var("server-metrics-formats", "LIST", "json,csv", "files of those: json, csv, jsonl", func(v string) error {
		o.scrapeForms = strings.Trim(o.scrapeForms+","+v, ",")
		return checkScrapeForms(o.scrapeForms)
	})
	s.Var("gpu-telemetry", "URL", "", "read these pages of NVIDIA's DCGM exporter during the run; see docs/outputs.md; may be repeated", func(v string) error {
		list, err := gpuPages(v)
		o.gpus = append(o.gpus, list...)
		return err
	})
	s.Secret(secret.URL, "server-metrics", "gpu-telemetry")
	s.Text(&o.json, "json", "FILE", "write the whole result")
	for _, opt := range plan.OutcomeOptions() {
		s.Var(opt.Long, opt.Arg, opt.Default, plain(opt.Help), func(v string) error { return opt.Set(&o.outcome, v) })
	}
	s.Var("console", "FORM", "", "table, or seed for the blocks of seed 003's tool, whatever options are used", func(v string) error {
		if v != "table" && v != "seed" {
			return fmt.Errorf("is table or seed, not %q", v)
		}
		o.console = v
		return nil
	})
	s.Bool(&o.verbose, "verbose,v", "every metric, intervals, and what each token count came from")
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

// switches adds an option and the one that takes it back.
func (o *options) switches(s *optset.Set, to *bool, name, undo, help string) {
	s.Bool(to, name, help)
	s.Var(undo, "", "", "the opposite, which is the default", func(string) error { *to = false; return nil })
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
