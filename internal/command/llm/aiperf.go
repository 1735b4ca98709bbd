package llm

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// aiperfRows are options of AIPerf. The first ones say how its processes work: its scripts may have them, and they change
// nothing here. This command does not have the others; the error names what to use instead.
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
		rows = append(rows, option.Row{Also: h.names, Instead: "of AIPerf is not supported: " + h.hint})
	}
	return option.Group("Options of AIPerf without effect", rows)
}

// aiperfHints are options of AIPerf that this command does not have, and what to use instead.
var aiperfHints = []struct{ names, hint string }{
	{"reset-kv-cache reset-kv-cache-timeout-seconds reset-kv-cache-path", "call the server yourself between runs, or keep its cache from helping with --cache-bust"},
	{"server-profiler server-profiler-timeout-seconds server-profiler-start-path server-profiler-stop-path", "start and stop the server's profiler around the command"},
	{"connection-reuse-strategy", "connections are made before the load and reused; --session-header is there for sticky routing"},
	{"download-video-content request-content-type", "videos are not generated; endpoints take JSON"},
	{"uuid-and-strip", "write image_uuids into the file of prompts, with an empty image where the server knows it"},
	{"public-dataset hf-subset hf-weka-dataset dataset-filter", "nothing is downloaded: give the file with --input-file"},
	{
		"use-think-time-only max-context-length trajectory-start-min-ratio trajectory-start-max-ratio burst-phase-starts trace-idle-gap-cap-seconds " +
			"system-idle-gap-cap-seconds allow-dataset-wrap no-allow-dataset-wrap agentic-cache-warmup-duration agentic-warmup-grace-period",
		"traces of agents are not replayed; see --custom-dataset-type for those that are",
	},
	{
		"trace-session-sample-ratio max-idle-gap-cap-seconds no-open-loop-replay open-loop-strict omit-kv-hints force-min-tokens no-force-min-tokens",
		"Baseten's traces are not read; see --replay-speedup and --inter-turn-delay-cap-seconds for others",
	},
	{"config", "options stand on the command line"},
	{"auto-plot plot-required", "use --report FILE for a page with curves, or aiperf plot on --artifact-dir"},
	{"otel-url otel-resource-attributes gen-ai-provider stream", "use --metrics-listen for figures while the run goes on; answers as streams are --streaming"},
	{
		"mlflow-tracking-uri mlflow-experiment mlflow-run-name mlflow-tag mlflow-parent-run-id mlflow-artifact-glob wandb-project wandb-entity wandb-run-name wandb-tag",
		"upload the files of --artifact-dir with the tool of your choice",
	},
	{"export-http-trace show-trace-timing", "the times of every event are in --exports parquet"},
	{"prefill-concurrency-ramp-duration warmup-prefill-concurrency-ramp-duration", "use --concurrency-ramp-duration or --request-rate-ramp-duration"},
	{"scenario unsafe-override", "scenarios are not known: give their options"},
	{"random-corpus-style prompt-corpus", "made prompts come from a text of this program's own; give yours with --input-file"},
	{
		"synthesis-prefix-len-multiplier synthesis-prefix-root-multiplier synthesis-prompt-len-multiplier synthesis-output-len-multiplier",
		"change the lengths in the trace; times are scaled with --replay-speedup",
	},
	{"image-source-sampling", "images of a folder are taken in order"},
	{
		"video-synth-type video-format video-codec video-audio-sample-rate video-audio-num-channels video-audio-codec video-audio-depth",
		"made videos are AVI files of JPEG pictures; put others into the file of prompts",
	},
	{"api-port api-host", "use --dash for a live page and --metrics-listen for Prometheus"},
	{"network-latency-automatic network-latency-mean network-latency-ping-interval", "latencies are from the client's side; compare with the server's own by --server-metrics"},
	{
		"accuracy-benchmark accuracy-tasks accuracy-n-shots accuracy-enable-cot accuracy-no-enable-cot accuracy-grader accuracy-system-prompt accuracy-verbose",
		"answers are timed, not graded",
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
		err = fmt.Errorf("%q is no option", stray[0])
	}
	return err
}

// severalValues repeats the name of an option before each of its values: AIPerf and vLLM's benchmark take several values
// behind one name. Every other argument of the command line belongs to an option, so none is taken for a value by mistake.
func severalValues(rows []option.Row, args []string) []string {
	repeated := map[string]bool{}
	for i := range rows {
		for _, name := range rows[i].Names() {
			repeated[name] = rows[i].Repeat
		}
	}
	var out []string
	list := ""    // the option whose values these may be
	next := false // the next argument is a value in any case
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
