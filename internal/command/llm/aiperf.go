package llm

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// aiperfRows are options of AIPerf. The first ones configure AIPerf's processes: scripts may pass them; they have no effect. This
// command does not have the others; the error says what to use instead.
func aiperfRows() []option.Row {
	rows := []option.Row{
		{Long: "ui", Also: "ui-type", Arg: "VALUE"},
		{Long: "workers-max", Also: "max-workers", Arg: "VALUE"},
		{Long: "record-processors", Also: "record-processor-service-count", Arg: "VALUE"},
		{Long: "transport", Also: "transport-type", Arg: "VALUE"},
		{Long: "url-strategy", Arg: "VALUE"},
		{Long: "tokenizer-revision", Arg: "VALUE"},
		{Long: "log-level", Arg: "VALUE"},
		{Long: "stats-interval", Arg: "VALUE"},
		{Long: "zmq-host", Arg: "VALUE"},
		{Long: "zmq-ipc-path", Arg: "VALUE"},
		{Long: "tokenizer-trust-remote-code"},
		{Long: "no-gpu-telemetry"},
		{Long: "no-server-metrics"},
		{Long: "zmq-dual-bind"},
		{Long: "no-auto-plot"},
		{Long: "no-sweep-table"},
		{Long: "set-consistent-seed"},
		{Long: "no-set-consistent-seed"},
		{Long: "open-loop-replay"},
	}
	for i := range rows {
		rows[i].To = option.Ignore()
	}
	for _, h := range aiperfHints {
		rows = append(rows, option.Row{Also: h.names, Instead: "is an option of AIPerf that is not supported: " + h.hint})
	}
	return option.Group("AIPerf's options that are accepted and have no effect", rows)
}

// aiperfHints name what to use instead of AIPerf's options that this command does not have.
var aiperfHints = []struct{ names, hint string }{
	{"reset-kv-cache reset-kv-cache-timeout-seconds reset-kv-cache-path", "reset the cache yourself between runs, or defeat it with --cache-bust"},
	{"server-profiler server-profiler-timeout-seconds server-profiler-start-path server-profiler-stop-path", "start and stop the server's profiler around the command"},
	{"connection-reuse-strategy", "connections are opened before the load and reused; use --session-header for sticky routing"},
	{"download-video-content request-content-type", "videos are not downloaded, and requests have JSON bodies"},
	{"uuid-and-strip", "put image_uuids into the input file, with an empty image where the server already has it"},
	{"public-dataset hf-subset hf-weka-dataset dataset-filter", "nothing is downloaded: give the file with --input-file"},
	{
		"use-think-time-only max-context-length trajectory-start-min-ratio trajectory-start-max-ratio burst-phase-starts trace-idle-gap-cap-seconds " +
			"system-idle-gap-cap-seconds allow-dataset-wrap no-allow-dataset-wrap agentic-cache-warmup-duration agentic-warmup-grace-period",
		"traces of agents are not supported; --custom-dataset-type lists the supported formats",
	},
	{
		"trace-session-sample-ratio max-idle-gap-cap-seconds no-open-loop-replay open-loop-strict omit-kv-hints force-min-tokens no-force-min-tokens",
		"Baseten's traces are not supported; use --replay-speedup and --inter-turn-delay-cap-seconds for other traces",
	},
	{"config", "give the options on the command line"},
	{"auto-plot plot-required", "use --report FILE for a page with curves, or aiperf plot on --artifact-dir"},
	{"otel-url otel-resource-attributes gen-ai-provider stream", "use --otlp for OpenTelemetry and --metrics-listen for Prometheus; use --streaming for streamed responses"},
	{
		"mlflow-tracking-uri mlflow-experiment mlflow-run-name mlflow-tag mlflow-parent-run-id mlflow-artifact-glob wandb-project wandb-entity wandb-run-name wandb-tag",
		"upload the files of --artifact-dir with the tool of your choice",
	},
	{"export-http-trace show-trace-timing", "the times of every event are in --exports parquet"},
	{"prefill-concurrency-ramp-duration warmup-prefill-concurrency-ramp-duration", "use --concurrency-ramp-duration or --request-rate-ramp-duration"},
	{"scenario unsafe-override", "scenarios are not supported; give their options"},
	{"random-corpus-style prompt-corpus", "generated prompts use a built-in text; give your own prompts with --input-file"},
	{
		"synthesis-prefix-len-multiplier synthesis-prefix-root-multiplier synthesis-prompt-len-multiplier synthesis-output-len-multiplier",
		"change the lengths in the trace file; --replay-speedup scales times",
	},
	{"image-source-sampling", "images of a folder are sent in order"},
	{
		"video-synth-type video-format video-codec video-audio-sample-rate video-audio-num-channels video-audio-codec video-audio-depth",
		"generated videos are AVI files of JPEG frames; put other videos into the input file",
	},
	{"api-port api-host", "use --dash for a live page and --metrics-listen for Prometheus"},
	{"network-latency-automatic network-latency-mean network-latency-ping-interval", "latencies include the network; --server-metrics reports the server's own times"},
	{
		"accuracy-benchmark accuracy-tasks accuracy-n-shots accuracy-enable-cot accuracy-no-enable-cot accuracy-grader accuracy-system-prompt accuracy-verbose",
		"responses are timed, not graded",
	},
	{"convergence-metric convergence-stat convergence-threshold convergence-mode", `use --until "ttft.p99 ± 5 %"`},
	{
		"parameter-sweep-same-seed no-parameter-sweep-same-seed parameter-sweep-mode sweep-type variant sweep-variant isl-osl-pairs",
		"levels are lists of --concurrency or --request-rate; mix lengths with --sequence-distribution, or run the command once for each",
	},
	{
		"search-space search-metric search-stat search-direction search-max-iterations search-initial-points search-random-seed search-planner optuna-sampler " +
			"optuna-acquisition optuna-terminator search-percentile-pooling bo-constraint-mode search-sla search-sla-tier search-recipe search-style",
		"measure a list of levels with --concurrency or --request-rate, and bounds with --goodput",
	},
	{"ttft-sla-ms itl-sla-ms tpot-sla-ms e2e-sla-ms error-rate-sla slo-attainment-fraction", `use --goodput "ttft:200 itl:20", or --assert`},
	{
		"degradation-threshold degradation-metric-tag degradation-stat isl-min isl-max isl-steps osl-min osl-max osl-steps concurrency-min concurrency-max concurrency-steps",
		"measure a list of levels with --concurrency, as 1:64:8",
	},
}

// parse reads the command line.
func (o *options) parse(args []string, secrets *secret.Set) error {
	o.table = &option.Table{Rows: o.rows(), Secrets: secrets}
	stray, err := o.table.Parse(severalValues(o.table.Rows, args))
	if err == nil && len(stray) > 0 {
		err = fmt.Errorf("unexpected argument %q", stray[0])
	}
	return err
}

// severalValues repeats the name of a repeatable option before each of its values: AIPerf and vLLM's benchmark accept several
// values after one name. This is unambiguous: the command has no arguments other than options and their values.
func severalValues(rows []option.Row, args []string) []string {
	repeated := map[string]bool{}
	for i := range rows {
		for _, name := range rows[i].Names() {
			repeated[name] = rows[i].Repeat
		}
	}
	var out []string
	list := ""    // the option that further values belong to
	next := false // the next argument is a value, even if it starts with "-"
	for _, a := range args {
		switch {
		case next:
			next = false
		case repeated[a]:
			list, next = a, true
		case strings.HasPrefix(a, "-"):
			list = ""
		case list != "":
			out = append(out, list)
		}
		out = append(out, a)
	}
	return out
}
