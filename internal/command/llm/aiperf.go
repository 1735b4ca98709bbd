package llm

import (
	"fmt"

	"github.com/redline-bench/redline/internal/option"
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
		{Long: "parameter-sweep-same-seed"}, // levels always have the same prompts
	}
	for i := range rows {
		rows[i].Help, rows[i].To = "has no effect here", option.Ignore()
	}
	rows = append(rows, option.Row{Long: "parameter-sweep-mode", Arg: "VALUE", Help: "independent: all repeats of a level come before the next level, as always here", To: option.Func(func(v string) error {
		if v != "independent" {
			return fmt.Errorf("is independent, not %q: all repeats of a level are measured before the next level", v)
		}
		return nil
	})})
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
	{"config", "put the options into a scenario and run it with 'redline run FILE', or give them on the command line"},
	{"auto-plot plot-required", "use --report FILE for a page with curves, or aiperf plot on --artifact-dir"},
	{"otel-url otel-resource-attributes gen-ai-provider stream", "use --otlp for OpenTelemetry and --metrics-listen for Prometheus; use --streaming for streamed responses"},
	{
		"mlflow-tracking-uri mlflow-experiment mlflow-run-name mlflow-tag mlflow-parent-run-id mlflow-artifact-glob wandb-project wandb-entity wandb-run-name wandb-tag",
		"upload the files of --artifact-dir with the tool of your choice",
	},
	{"export-http-trace show-trace-timing", "the times of every event are in --exports parquet"},
	{"prefill-concurrency-ramp-duration warmup-prefill-concurrency-ramp-duration", "use --concurrency-ramp-duration or --request-rate-ramp-duration"},
	{"scenario unsafe-override", "AIPerf's scenarios are not supported; give their options, or write a file for redline run"},
	{"random-corpus-style prompt-corpus", "generated prompts use a built-in text; give your own prompts with --input-file"},
	{
		"synthesis-prefix-len-multiplier synthesis-prefix-root-multiplier synthesis-prompt-len-multiplier synthesis-output-len-multiplier",
		"write the changed trace with 'redline synthesize-trace TRACE OUTPUT' and give it with --input-file; --replay-speedup scales times",
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
		"no-parameter-sweep-same-seed sweep-type variant sweep-variant isl-osl-pairs",
		"levels are lists of --concurrency, --request-rate, --isl, --osl or --num-conversations; mix lengths with --sequence-distribution, or run the command once for each",
	},
	{
		"search-space search-metric search-stat search-direction search-max-iterations search-initial-points search-random-seed search-planner optuna-sampler " +
			"optuna-acquisition optuna-terminator search-percentile-pooling bo-constraint-mode search-sla search-sla-tier search-recipe search-style",
		"'redline find llm --slo RULE' searches for the highest load that holds objectives; a list of levels is --concurrency 1,2,4 or --request-rate 10,20",
	},
	{"ttft-sla-ms itl-sla-ms tpot-sla-ms e2e-sla-ms error-rate-sla slo-attainment-fraction", `use 'redline find llm --slo "ttft.p99<200ms"' to search for the highest load that holds it, or check a run with --goodput "ttft:200 itl:20" or --assert`},
	{
		"degradation-threshold degradation-metric-tag degradation-stat isl-min isl-max isl-steps osl-min osl-max osl-steps concurrency-min concurrency-max concurrency-steps",
		"measure a list of levels with --concurrency, as 1:64:8",
	},
}
