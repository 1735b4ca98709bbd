package llm

import "github.com/redline-bench/redline/internal/option"

// otherRows are options of GuideLLM, vLLM's benchmark, LLMPerf and general load tools that this command does not have; the error says
// what to write.
func otherRows() []option.Row {
	var rows []option.Row
	for _, h := range []struct{ names, instead string }{
		{"target base-url", "is the server's address of another tool; use -u HOST:PORT"},
		{"host port", "is an option of vLLM's benchmark; use -u HOST:PORT"},
		{"rate-type", "is an option of GuideLLM; use --concurrency 1,4,16 (synchronous, concurrent, throughput) or --request-rate 1,5,10 (constant, poisson); in place of a sweep, 'redline find llm --slo RULE' searches for the highest rate"},
		{"rate rps qps", "is an option of other load tools; use --request-rate N for requests per second, or --concurrency N"},
		{"max-seconds", "is an option of GuideLLM; use --benchmark-duration SECONDS"},
		{"max-requests total iterations", "is an option of other load tools; use --request-count N"},
		{"data", "is an option of GuideLLM; use --isl N --osl N for generated prompts, or --input-file FILE"},
		{"dataset-name", "is an option of vLLM's benchmark; generated prompts need none, files go to --input-file with --custom-dataset-type"},
		{"dataset-path", "is an option of vLLM's benchmark; use --input-file FILE"},
		{"random-input-len input-len sharegpt-input-len sonnet-input-len", "is an option of vLLM's benchmark; use --isl N"},
		{"random-output-len output-len sharegpt-output-len sonnet-output-len custom-output-len", "is an option of vLLM's benchmark; use --osl N"},
		{"max-concurrency vus clients", "is an option of other load tools; use --concurrency N"},
		{"burstiness", "is an option of vLLM's benchmark; use --arrival-pattern gamma --arrival-smoothness SHAPE"},
		{"ignore-eos", "is an option of vLLM's benchmark; use --extra-inputs ignore_eos:true"},
		{"temperature top-p top-k min-p", "is a field of the request; use --extra-inputs NAME:VALUE, as in temperature:0"},
		{"percentile-metrics metric-percentiles", "is an option of vLLM's benchmark; -v prints every metric with its percentiles"},
		{"save-result save-detailed result-filename", "is an option of vLLM's benchmark; use --json FILE, or --artifact-dir DIR --exports vllm"},
		{"result-dir output-path", "is an option of another tool; use --artifact-dir DIR, or --json FILE"},
		{"num-warmups", "is an option of vLLM's benchmark; use --warmup-request-count N"},
		{"mean-input-tokens", "is an option of LLMPerf; use --isl N"},
		{"mean-output-tokens", "is an option of LLMPerf; use --osl N"},
		{"stddev-input-tokens", "is an option of LLMPerf; use --isl-stddev N"},
		{"stddev-output-tokens", "is an option of LLMPerf; use --osl-stddev N"},
		{"num-concurrent-requests", "is an option of LLMPerf; use --concurrency N"},
		{"max-num-completed-requests", "is an option of LLMPerf; use --request-count N"},
		{"results-dir", "is an option of LLMPerf; use --artifact-dir DIR, or --json FILE"},
		{"llm-api", "is an option of LLMPerf; use --endpoint-type NAME"},
		{"no-stream disable-stream", "is an option of vLLM's benchmark; responses are streamed only with --streaming"},
	} {
		rows = append(rows, option.Row{Also: h.names, Instead: h.instead})
	}
	return rows
}
