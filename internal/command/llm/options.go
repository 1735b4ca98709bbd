package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/ready"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/segment"
)

// options are the draft of a plan, as the rows of the tables below set it, and what only a command line has. plan makes a Plan of it.
type options struct {
	Plan
	triton bool   // GenAI-Perf's options name a model of Triton
	save   string // scenario

	table *option.Table // what the command line said
}

// defaults are the options when none is given.
func defaults() *options {
	return &options{Plan: Plan{
		ValidErrorRate: plan.DefaultErrorRate,
		Arrival:        load.Poisson, Grace: 30 * time.Second, Runs: 1, Confidence: 0.95, Console: "table",
		Outcome: plan.DefaultOutcome(), Fleet: plan.DefaultFleet(), Session: "X-Correlation-ID",
		Wait: ready.Wait{Mode: "inference", Every: 5 * time.Second},
		Data: dataset.Options{Input: dataset.Lengths{Mean: 550}, Trace: dataset.Trace{AutoOffset: true}},
	}}
}

// rows are all options of the command.
func (o *options) rows() []option.Row {
	return slices.Concat(o.targetRows(), o.loadRows(), o.stopRows(), o.warmRows(), o.promptRows(), o.shapeRows(), o.mediaRows(),
		o.outputRows(), o.Outcome.Rows(), o.Fleet.Rows(), o.genaiperfRows(), aiperfRows(), otherRows())
}

func (o *options) targetRows() []option.Row {
	return option.Group("Server", []option.Row{
		{Long: "model", Short: 'm', Also: "model-names", Arg: "NAME", Repeat: true, Help: "name of the model; with several, or a comma-separated list, each conversation uses one of the models", To: option.Func(func(v string) error {
			if o.Model != "" {
				v = o.Model + "," + v
			}
			o.Model = v
			return nil
		})},
		{Long: "model-selection-strategy", Arg: "NAME", Default: "round_robin", Help: "how a conversation's model is chosen from the list: round_robin or random", To: option.Func(func(v string) error {
			v = strings.ReplaceAll(v, "-", "_")
			o.Data.DrawnModels = v == "random"
			if v != "round_robin" && v != "random" {
				return fmt.Errorf("is round_robin or random, not %q", v)
			}
			return nil
		}).Of("round_robin", "random")},
		{Long: "url", Short: 'u', Arg: "ADDR", Repeat: true, Help: "address of the server; requests go to several addresses in turn (comma-separated)", Secret: secret.URL, To: option.Func(func(v string) error {
			o.URLs = append(o.URLs, strings.Split(v, ",")...)
			return nil
		})},
		{Long: "endpoint-type", Arg: "TYPE", Default: "chat", Help: "API of the server: " + strings.Join(api.Kinds(), ", "), To: option.Func(func(v string) error {
			k, err := api.Parse(v)
			o.Kind = string(k)
			return err
		}).Of(api.Kinds()...)},
		{Long: "endpoint", Also: "custom-endpoint", Arg: "PATH", Help: "path to send requests to, instead of the API's usual path", Secret: secret.URL, To: option.Text(&o.Path)},
		{Long: "streaming", Help: "request streamed responses", To: option.Switch(&o.Streaming)},
		{Long: "no-streaming", Help: "KServe: request a single response even if the model can stream", To: option.Switch(&o.NoStream)},
		{Long: "protocol", Short: 'i', Arg: "PROTOCOL", Help: "protocol to a Triton text model: grpc, or http for its generate endpoint", To: option.OneOf(&o.Protocol, string(plan.HTTP), string(plan.GRPC))},
		{Long: "header", Short: 'H', Arg: "NAME:VALUE", Repeat: true, Help: "HTTP header or gRPC metadata to send with every request; also a JSON object with several", Secret: secret.Header, To: headers(&o.Headers)},
		{Long: "api-key", Arg: "KEY", Help: "API key, sent as Authorization: Bearer KEY (Anthropic: as x-api-key)", Secret: secret.Whole, To: option.Text(&o.APIKey)},
		{Long: "api-key-env", Arg: "VARIABLE", Help: "environment variable that contains the API key", To: option.Text(&o.APIKeyEnv)},
		{Long: "extra-inputs", Also: "extra-body", Arg: "NAME:VALUE", Repeat: true, Help: "field to add to every request body, or model input; also a JSON object with several", Secret: secret.Pair, To: option.Func(o.addExtra)},
		{Long: "template", Arg: "FILE|TEXT", Help: "endpoint type template: template of the request body, Jinja or Go's text/template; see docs/llm.md", To: option.Text(&o.Template)},
		{Long: "response-field", Arg: "PATH", Help: "endpoint type template: path of the text in a response, such as choices.0.text", To: option.Text(&o.Response)},
		{Long: "usage-fields", Arg: "PATH,PATH", Help: "endpoint type template: paths of the prompt's and the response's token counts in a response", To: option.Text(&o.Usage)},
		{Long: "use-legacy-max-tokens", Help: "chat: send the output limit as max_tokens", To: option.Switch(&o.Legacy)},
		{Long: "no-usage", Help: "do not request the server's token counts in streams", To: option.Switch(&o.NoUsage)},
		{Long: "per-chunk-usage", Help: "request the server's token counts in every chunk (vLLM, TensorRT-LLM)", To: option.Switch(&o.Chunks)},
		{Long: "session-header", Arg: "NAME", Help: "header that carries the conversation's id, for routers; X-Request-ID carries the request's id", To: option.Text(&o.Session)},
		{Long: "wait-for-model-timeout", Arg: "TIME", Help: "wait up to this long for the model to be ready; 0 does not wait", To: seconds(&o.Wait.Timeout)},
		{Long: "wait-for-model-mode", Arg: "HOW", Help: "what ready means: models (the model is listed), inference (it responds), or both", To: option.OneOf(&o.Wait.Mode, "models", "inference", "both")},
		{Long: "wait-for-model-interval", Arg: "TIME", Help: "time between two checks of --wait-for-model-timeout", To: seconds(&o.Wait.Every)},
		{Long: "request-timeout-seconds", Arg: "TIME", Default: "6h", Help: "time limit of a request; a request that takes longer fails", To: seconds(&o.Timeout)},
		{Long: "max-response-bytes", Arg: "SIZE", Default: "32MiB", Help: "size limit of a response, decompressed and with all its events; a request with a larger response fails", To: option.Bytes(&o.Largest, 1, plan.MostResponse)},
		{Long: "http-version", Arg: "VERSION", Help: "HTTP version: auto, 1.1 or 2", To: plan.HTTPVersion(&o.HTTP)},
		{Long: "connections", Arg: "N", Default: "0", Help: "gRPC and HTTP/2: number of connections to each address; 0 chooses", To: option.Int(&o.Conns, 0)},
		{Long: "ssl-grpc-use-ssl", Help: "gRPC: use TLS", To: option.Switch(&o.GRPCTLS)},
		{Long: "ca-file", Also: "ssl-https-ca-certificates-file ssl-grpc-root-certifications-file", Arg: "FILE", Help: "PEM file of certificate authorities to trust, instead of the system's", To: option.Text(&o.TLS.CAFile)},
		{Long: "cert-file", Also: "ssl-https-client-certificate-file ssl-grpc-certificate-chain-file", Arg: "FILE", Help: "PEM file of this client's certificate", To: option.Text(&o.TLS.CertFile)},
		{Long: "key-file", Also: "ssl-https-private-key-file ssl-grpc-private-key-file", Arg: "FILE", Help: "PEM file of this client's private key", To: option.Text(&o.TLS.KeyFile)},
		{Long: "insecure", Help: "do not verify the server's certificate", To: option.Switch(&o.Insecure)},
		{Long: "embedded", Help: "start the reference server for this run", To: option.Switch(&o.Embedded)},
	})
}

func (o *options) loadRows() []option.Row {
	return option.Group("Load", []option.Row{
		{Long: "concurrency", Also: "session-concurrency", Arg: "LIST", Help: "closed loop: number of conversations at once, one level for each number, such as 1,4,8 or 1:8:1; with --request-rate, " +
			"the limit of requests in flight", To: option.Parsed(&o.Concurrency, option.Ints)},
		{Long: "request-rate", Arg: "LIST", Help: "open loop: requests per second, one level for each number, such as 5,10", To: option.Parsed(&o.Rates, option.Floats)},
		{Long: "arrival-pattern", Also: "request-rate-mode", Arg: "NAME", Default: "poisson", Help: "distribution of the gaps between requests: constant, poisson or gamma; concurrency_burst is the closed loop of --concurrency", To: option.Func(func(v string) (err error) {
			if o.Closed = v == closedLoop; !o.Closed {
				o.Arrival, err = load.ParseArrival(v)
			}
			return err
		}).Of(string(load.Constant), string(load.Poisson), string(load.Gamma), closedLoop)},
		{Long: "request-rate-series", Arg: "FILE", Help: `JSON file of rates over time, [{"time_s":0,"qps":5}, ...]; the rate changes linearly between two points`, To: option.Func(func(v string) (err error) {
			if o.Stages != nil {
				return errors.New("and --stages exclude each other")
			}
			o.Stages, err = load.ReadRates(v)
			return err
		})},
		{Long: "arrival-smoothness", Also: "vllm-burstiness", Arg: "SHAPE", Help: "shape of the gamma distribution: 1 is Poisson, higher is more even", To: option.Float(&o.Smoothness, 0, 1e6)},
		{Long: "stages", Arg: "LIST", Help: `rates of one level, one after another: "10:30s,50:1m"; "10-50:30s" rises from 10 to 50`, To: option.Func(func(v string) (err error) {
			if o.Stages != nil {
				return errors.New("is given twice, or besides --request-rate-series")
			}
			o.Stages, err = pace.ParseStages(v)
			return err
		}).In("s")},
		{Long: "concurrency-stages", Arg: "LIST", Help: `numbers of conversations of one level, one after another: "8:30s,32:1m"; "8-32:30s" rises from 8 to 32`, To: option.Parsed(&o.SessionStages, pace.ParseStages).In("s")},
		{Long: "concurrency-ramp-duration", Arg: "TIME", Help: "time over which the conversations start, one after another", To: seconds(&o.Ramp)},
		{Long: "request-rate-ramp-duration", Arg: "TIME", Help: "time over which the rate rises from 0 to --request-rate", To: seconds(&o.RateRamp)},
		{Long: "think-time", Arg: "TIME[±SPREAD]", Help: "closed loop: wait this long after a request has ended before the next is sent in its place, such as 100ms or " +
			"100ms±20ms (uniform, drawn from --random-seed; +- stands for ±); no latency includes it", To: option.Parsed(&o.ThinkTime, pace.ParseThinkTime).In("s")},
		{Long: "prefill-concurrency", Arg: "N", Help: "limit of requests that wait for their first token", To: option.Int(&o.Prefill, 0)},
		{Long: "user-centric-rate", Arg: "RATE", Help: "requests per second of all users together; each user sends at constant intervals", To: option.Float(&o.UserRate, 0, 1e9)},
		{Long: "num-users", Arg: "N", Help: "number of users of --user-centric-rate", To: option.Int(&o.Users, 0)},
		{Long: "fixed-schedule", Help: "send each request at its timestamp in the input file", To: option.Switch(&o.Fixed)},
		{Long: "no-fixed-schedule", Help: "ignore timestamps in the input file", To: option.Switch(&o.NoFix)},
		{Long: "segment", Arg: "NUMBER/COUNT", Help: "send one part of the load: 2/5 is the second of five equal parts. Start all parts with the same options, on several " +
			"machines; together they send exactly the requests of one run without this option", To: option.Parsed(&o.Segment, segment.Parse)},
		{Long: "replay-speedup", Also: "synthesis-speedup-ratio", Arg: "FACTOR", Help: "divide the times of a schedule by this factor", To: option.Float(&o.Data.Trace.Speedup, 0, 1e9)},
		{Long: "fixed-schedule-start-offset", Arg: "TIME", Help: "skip requests of the schedule before this time", To: option.Time(&o.Data.Trace.Start, time.Millisecond)},
		{Long: "fixed-schedule-end-offset", Arg: "TIME", Help: "skip requests of the schedule after this time", To: option.Time(&o.Data.Trace.End, time.Millisecond)},
		{Long: "fixed-schedule-auto-offset", Help: "make the first request of a schedule due at the start of the level, as without the option", To: option.Switch(&o.Data.Trace.AutoOffset)},
		{Long: "no-fixed-schedule-auto-offset", Help: "keep the time before the first request of a schedule", To: option.SwitchOff(&o.Data.Trace.AutoOffset)},
		{Long: "request-cancellation-rate", Arg: "PERCENT", Help: "percentage of requests that the client cancels", To: option.Float(&o.CancelRate, 0, 100)},
		{Long: "request-cancellation-delay", Arg: "TIME", Help: "cancel these requests this long after they were sent", To: option.Func(func(v string) error {
			o.CancelDelay = new(time.Duration)
			return seconds(o.CancelDelay).Set(v)
		}).In("s")},
		{Long: "request-cancellation-tokens", Arg: "PERCENT", Help: "cancel these requests after this percentage of the requested tokens", To: option.Float(&o.CancelTokens, 0, 100)},
	})
}

// endAtErrorRate ends a level at ValidErrorRate.
func (o *options) endAtErrorRate(string) error {
	o.MaxErrorRate = o.ValidErrorRate
	return nil
}

func (o *options) stopRows() []option.Row {
	return option.Group("Measurement: length, limits and repeats", []option.Row{
		{Long: "request-count", Also: "num-requests", Arg: "N", Help: "number of requests of a level", To: option.Int(&o.Requests, 1)},
		{Long: "num-conversations", Also: "num-sessions conversation-num", Arg: "LIST", Help: "number of conversations of a level; a list, as 10,20, measures a level for each", To: option.Parsed(&o.SessionCounts, option.Ints)},
		{Long: "benchmark-duration", Also: "duration", Arg: "TIME", Help: "duration of a level", To: seconds(&o.Duration)},
		{Long: "benchmark-grace-period", Arg: "TIME", Help: "how long to wait for requests in flight after --benchmark-duration; inf waits for all", To: endlessSeconds(&o.Grace)},
		{Long: "cooldown-duration", Arg: "TIME", Help: "do not count requests sent in this last part of --benchmark-duration", To: seconds(&o.Cooldown)},
		{Long: "max-errors", Arg: "N", Help: "end a level after this many failed requests", To: option.Int(&o.MaxErrors, 0)},
		{Long: "max-error-rate", Arg: "PERCENT", Help: "percentage of failed requests above which a level is not valid; if the option is given, the level also ends there", To: option.Percent(&o.ValidErrorRate, 100).Then(o.endAtErrorRate)},
		{Long: "failed-request-threshold", Arg: "SHARE", Help: "--max-error-rate as a share from 0 to 1", To: option.Float(&o.ValidErrorRate, 0, 1).Then(o.endAtErrorRate)},
		{Long: "until", Arg: "TARGET", Help: `end a level when the confidence interval of a metric is narrow enough: "ttft.p99 ± 5 %"`, To: option.Text(&o.Until)},
		{Long: "goodput", Short: 'g', Arg: "LIST", Repeat: true, Help: `count requests that meet these bounds: "ttft:200ms itl:20ms"`, To: option.Func(func(v string) error {
			o.Goodput = strings.TrimSpace(o.Goodput + " " + v)
			return nil
		}).In("ms")},
		{Long: "runs", Also: "num-profile-runs", Arg: "N", Help: "measure each level N times; confidence intervals are then computed over the repeats", To: option.Int(&o.Runs, 1)},
		{Long: "calibrate", Help: "after the run, measure the error of token times on a reference server on this machine, at the pace of each level; takes up to 4 seconds per level", To: option.Switch(&o.Calibrate)},
		{Long: "profile-run-cooldown-seconds", Arg: "TIME", Help: "pause between the repeats of --runs", To: seconds(&o.RunPause)},
		{Long: "no-vary-seed-per-trial", Help: "send the same prompts at the same times in every repeat of --runs; a prefix cache may then contain them", To: option.Switch(&o.SameSeed)},
		{Long: "vary-seed-per-trial", Help: "send different prompts in every repeat of --runs, as without the option", To: option.SwitchOff(&o.SameSeed)},
		{Long: "profile-run-disable-warmup-after-first", Help: "warm up before the first repeat of --runs only", To: option.Switch(&o.WarmOnce)},
		{Long: "no-profile-run-disable-warmup-after-first", Help: "warm up before every repeat of --runs, as without the option", To: option.SwitchOff(&o.WarmOnce)},
		{Long: "parameter-sweep-cooldown-seconds", Arg: "TIME", Help: "pause between levels", To: seconds(&o.Pause)},
		{Long: "confidence-level", Arg: "SHARE", Help: "confidence level of intervals; 0 computes no intervals", To: option.Float(&o.Confidence, 0, 0.9999)},
	})
}

func (o *options) outputRows() []option.Row {
	return option.Group("Output", []option.Row{
		{Long: "artifact-dir", Also: "output-artifact-dir output-dir", Arg: "DIR", Default: "artifacts/MODEL-openai-TYPE-LEVEL if an option needs a folder, else none", Help: "folder for result files in AIPerf's formats, with one subfolder per level", To: option.Text(&o.Artifacts)},
		{Long: "profile-export-prefix", Also: "profile-export-file", Arg: "NAME", Help: "prefix of the names of the files in --artifact-dir", To: option.Text(&o.Prefix)},
		{Long: "exports", Arg: "LIST", Help: "files to write to --artifact-dir: summary, csv, records, inputs, outputs, raw, slices, profile, genai, vllm, parquet, all", To: option.Text(&o.Exports)},
		{Long: "export-level", Also: "profile-export-level", Arg: "LEVEL", Help: "files to write to --artifact-dir, by AIPerf's levels: summary, records or raw", To: option.OneOf(&o.ExportLevel, "summary", "records", "raw")},
		{Long: "export-outputs-json", Help: "write the texts of the responses to outputs.json, like --exports outputs", To: option.Switch(&o.Outputs)},
		{Long: "slice-duration", Arg: "TIME", Help: "length of the time slices of --exports slices", To: seconds(&o.SliceEvery)},
		{Long: "server-metrics-formats", Arg: "LIST", Repeat: true, Default: "json,csv", Help: "files to write for --server-metrics: json, csv, jsonl", To: option.Func(func(v string) error {
			o.ScrapeForms = strings.Trim(o.ScrapeForms+","+v, ",")
			return checkScrapeForms(o.ScrapeForms)
		}).Of("json", "csv", "jsonl")},
		{Long: "gpu-telemetry", Arg: "[URL]", Optional: true, Repeat: true, Help: "read GPU metrics from this URL of NVIDIA's DCGM exporter during the run, without a URL from port 9400 or 9401 of this machine; see docs/outputs.md", Secret: secret.URL, To: option.Func(func(v string) error {
			o.FindGPUs = o.FindGPUs || v == ""
			list, err := gpuPages(v)
			o.GPUs = append(o.GPUs, list...)
			return err
		})},
		{Long: "json", Arg: "FILE", Writes: true, Help: "write the whole result as JSON", To: option.Text(&o.JSON)},
		{Long: "save-scenario", Arg: "FILE", Writes: true, Help: "save the run as a scenario: 'redline run FILE' repeats it", To: option.Text(&o.save)},
		{Long: "console", Arg: "FORM", Help: "form of the report on the console: table, or blocks, the form of the Python perf tool for TensorRT-LLM; under the name llm_perf it is blocks", To: option.OneOf(&o.Console, "table", "blocks")},
		{Long: "verbose", Short: 'v', Also: "extra-verbose", Help: "print every metric, confidence intervals, and the source of each token count", To: option.Switch(&o.Verbose)},
	})
}
