package watch

// form says how the samples of a source become the values of a quantity.
type form int

const (
	gauge form = iota // the value itself
	rate              // increase of a counter per second
	ratio             // increase of one counter divided by the increase of others
)

// together says how the samples of one metric become one line.
type together int

const (
	added    together = iota // models, engines and ranks add up
	averaged                 // shares of models, engines and ranks
	apart                    // a line for each GPU
)

// quantity is a common name with the metrics that servers report it by.
type quantity struct {
	name, title, unit string
	together          together
	// sources are tried in this order; the first that a page has is used.
	sources []source
}

// source is a metric of one kind of server.
type source struct {
	form   form
	metric string
	// where is a label that the sample must have, as "request_type=waiting".
	where string
	// per are the counters that a ratio is divided by.
	per []string
	// scale converts to the quantity's unit; 0 means 1.
	scale float64
}

// quantities is the one table of names: Triton (nv_), its TensorRT-LLM backend (nv_trt_llm_), trtllm-serve (trtllm_), vLLM,
// SGLang, Text Generation Inference (tgi_) and NVIDIA's DCGM exporter. Counters stand here without _total, which some versions
// add. Reports show quantities in this order.
var quantities = []quantity{
	{"requests_waiting", "Requests waiting", "requests", added, []source{
		{metric: "vllm:num_requests_waiting"},
		{metric: "sglang:num_queue_reqs"},
		{metric: "tgi_queue_size"},
		{metric: "trtllm_num_requests_waiting"},
		{metric: "nv_trt_llm_request_metrics", where: "request_type=waiting"},
		{metric: "nv_inference_pending_request_count"},
	}},
	{"requests_running", "Requests running", "requests", added, []source{
		{metric: "vllm:num_requests_running"},
		{metric: "sglang:num_running_reqs"},
		{metric: "trtllm_num_requests_running"},
		{metric: "nv_trt_llm_request_metrics", where: "request_type=scheduled"},
	}},
	{"queue_time", "Time in the queue", "ms", averaged, []source{
		{form: ratio, metric: "vllm:request_queue_time_seconds_sum", per: []string{"vllm:request_queue_time_seconds_count"}, scale: 1e3},
		{form: ratio, metric: "sglang:queue_time_seconds_sum", per: []string{"sglang:queue_time_seconds_count"}, scale: 1e3},
		{form: ratio, metric: "tgi_request_queue_duration_sum", per: []string{"tgi_request_queue_duration_count"}, scale: 1e3},
		{form: ratio, metric: "trtllm_request_queue_time_seconds_sum", per: []string{"trtllm_request_queue_time_seconds_count"}, scale: 1e3},
		{form: ratio, metric: "nv_inference_queue_duration_us", per: []string{"nv_inference_request_success"}, scale: 1e-3},
	}},
	{"batch_size", "Batch size", "inferences", averaged, []source{
		{metric: "tgi_batch_current_size"},
		{form: ratio, metric: "nv_inference_count", per: []string{"nv_inference_exec_count"}},
	}},
	{"inference_rate", "Inferences by the server's count", "/s", added, []source{
		{form: rate, metric: "nv_inference_count"},
		{form: rate, metric: "vllm:request_success"},
		{form: rate, metric: "sglang:num_requests"},
		{form: rate, metric: "tgi_request_success"},
		{form: rate, metric: "trtllm_request_success"},
	}},
	{"token_rate", "Tokens by the server's count", "tokens/s", added, []source{
		{form: rate, metric: "vllm:generation_tokens"},
		{form: rate, metric: "sglang:generation_tokens"},
		{form: rate, metric: "tgi_request_generated_tokens_sum"},
	}},
	{"kv_cache_use", "KV cache use", "%", averaged, []source{
		{metric: "vllm:kv_cache_usage_perc", scale: 100},
		{metric: "vllm:gpu_cache_usage_perc", scale: 100},
		{metric: "sglang:token_usage", scale: 100},
		{metric: "trtllm_kv_cache_utilization", scale: 100},
		{metric: "nv_trt_llm_kv_cache_block_metrics", where: "kv_cache_block_type=fraction", scale: 100},
	}},
	{"prefix_cache_hits", "Prefix cache hits", "%", averaged, []source{
		{form: ratio, metric: "vllm:prefix_cache_hits", per: []string{"vllm:prefix_cache_queries"}, scale: 100},
		{form: ratio, metric: "vllm:gpu_prefix_cache_hits", per: []string{"vllm:gpu_prefix_cache_queries"}, scale: 100},
		{metric: "vllm:gpu_prefix_cache_hit_rate", scale: 100},
		{metric: "sglang:cache_hit_rate", scale: 100},
		{metric: "trtllm_kv_cache_hit_rate", scale: 100},
	}},
	{"response_cache_hits", "Response cache hits", "%", averaged, []source{
		{form: ratio, metric: "nv_cache_num_hits_per_model", per: []string{"nv_cache_num_hits_per_model", "nv_cache_num_misses_per_model"}, scale: 100},
	}},
	{"preemptions", "Preemptions", "/s", added, []source{
		{form: rate, metric: "vllm:num_preemptions"},
		{form: rate, metric: "sglang:num_retracted_requests"},
	}},
	{"gpu_use", "GPU use", "%", apart, []source{
		{metric: "DCGM_FI_DEV_GPU_UTIL"},
		{metric: "nv_gpu_utilization", scale: 100},
	}},
	{"gpu_memory", "GPU memory in use", "GB", apart, []source{
		{metric: "DCGM_FI_DEV_FB_USED", scale: 1.048576e-3}, // MiB
		{metric: "nv_gpu_memory_used_bytes", scale: 1e-9},
	}},
	{gpuPower, "GPU power", "W", apart, []source{
		{form: rate, metric: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", scale: 1e-3}, // mJ
		{metric: "DCGM_FI_DEV_POWER_USAGE"},
		{metric: "nv_gpu_power_usage"},
	}},
}

// gpuPower is the quantity that energy is computed from.
const gpuPower = "gpu_power"

// gpuLabels identify the GPU of a sample; the first that a sample has is used.
var gpuLabels = []string{"gpu", "gpu_uuid", "UUID"}
