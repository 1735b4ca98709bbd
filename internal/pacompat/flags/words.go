package flags

import (
	"regexp"
	"sync"
)

// rewording is a refusal in perf_analyzer's words, and what redline profile says in its place: the right form, or what to add.
type rewording struct {
	original *regexp.Regexp
	ours     string
}

// rewordings are tried in their order; the first that fits is used.
var rewordings = sync.OnceValue(func() []rewording {
	var list []rewording
	add := func(original, ours string) {
		list = append(list, rewording{regexp.MustCompile("^" + original + "$"), ours})
	}
	// What one option takes.
	add(`Failed to parse --shape\. (?:Invalid value provided: (.*)|.*)`, "--shape is NAME:DIMENSIONS, such as INPUT0:3,224,224")
	add(`Failed to parse -i \(protocol\)\. .*`, "-i is http or grpc")
	add(`Failed to parse --percentile\. .*`, "--percentile is a number above 0 and below 100, or -1 for the average")
	add(`Failed to parse --profile-export-file\. Path must not already exist\.`, "--profile-export-file names a file that exists: remove the file, or give another name")
	add(`Failed to parse --request-parameter\. .*`, "--request-parameter is NAME:VALUE:TYPE, such as max_tokens:256:int")
	add(`Failed to parse (--(?:concurrency|request-rate)-range)\. The value does not match <start:end:step>\.`, "$1 is START, START:END or START:END:STEP, such as 8 or 1:16:4")
	add(`(--(?:concurrency|request-rate)-range) is a number, not ".*,.*"`, "$1 is START:END:STEP, such as 1:16:4, and no list: run the command once for each level")
	add(`Failed to parse (\S+)\. (?:The value does not match <start:end:step>|Both <start> and <end> values must be provided)\.`, "$1 is START:END:STEP, such as 1:16:4")
	add(`Failed to parse (\S+)\. The <step> value must be > 0\.`, "$1: STEP must be above 0")
	add(`Failed to parse (\S+)\. The <step> value must be a factor of the range size \(<end> - <start>\)\.`, "$1: STEP must divide END - START, as in 1:16:5")
	add(`Failed to parse (\S+)\. The <start> must be <= <end>\.`, "$1 ends below its start: write the lower number first")
	add(`Received gRPC method name '(.*)' that does not match the format: .*`, "--grpc-method is PACKAGE.SERVICE/METHOD, not '$1'")
	add(`Failed to parse --request-rate-range\. The start of the search range must be > 0\.`, "--request-rate-range starts above 0")
	add(`The start of the search range must be > 0`, "--concurrency-range starts at 1 or above")
	// What belongs together, and what does not.
	add(`Cannot specify --async and --sync simultaneously\.`, "--async and --sync exclude each other: leave one out")
	add(`Streaming is only allowed with gRPC protocol and Triton C API\.`, "--streaming needs gRPC: add -i grpc")
	add(`Using compression algorithm is only allowed with gRPC protocol\.`, "--grpc-compression-algorithm needs gRPC: add -i grpc")
	add(`The --request-parameter option is currently only supported by gRPC protocol\.`, "--request-parameter needs gRPC: add -i grpc")
	add(`The --periodic-concurrency-range option requires bi-directional gRPC streaming\.`, "--periodic-concurrency-range needs streams: add -i grpc --streaming")
	add(`Must provide --profile-export-file when using the --periodic-concurrency-range option\.`, "--periodic-concurrency-range writes every request: add --profile-export-file FILE")
	add(`Session concurrency mode is only supported with OpenAI service kind\.`, "--session-concurrency is for language models: add --service-kind openai")
	add(`Must specify --collect-metrics when using the (\S+) option\.`, "$1 is about the metrics of Triton: add --collect-metrics")
	add(`Server-side metric collection is only supported with Triton client backend\.`, "--collect-metrics reads the metrics of Triton: use --server-metrics URL for other servers")
	add(`The -z flag cannot be set when --data-directory is provided\.`, "-z and --data-directory exclude each other: leave one out")
	// Service kinds.
	add(`perf_analyzer supports only grpc protocol for (.*)\.`, "$1 is measured over gRPC: add -i grpc")
	add(`perf_analyzer does not support (\S+)(?: API)? for (.*)\.`, "$2 takes no --$1: leave it out")
	add(`--input-data should be provided with a json file with input data for torchserve\.`, "--service-kind torchserve needs its requests: add --input-data FILE")
	add(`(--\S+) should not be empty when using service-kind=triton_c_api\.`, "--service-kind triton_c_api needs $1")
	add(`Cannot use --shared-memory=system or --shared-memory=cuda with .*`, "--service-kind triton_c_api takes no --shared-memory with --async and --streaming: leave it out")
	add(`Must supply --input-data for OpenAI service kind\.`, "--service-kind openai needs its requests: add --input-data FILE, or use 'redline llm', which makes prompts")
	add(`Must supply --endpoint for OpenAI service kind\. .*`, "--service-kind openai needs the path of the API: add --endpoint v1/chat/completions")
	add(`Must supply --input-data to provide input data stream for streaming Dynamic gRPC service\.`, "--service-kind dynamic_grpc needs its requests: add --input-data FILE")
	add(`Dynamic gRPC client only supports synchronous RPCs at the moment\.`, "--service-kind dynamic_grpc takes no --async: leave it out")
	// Searches and counts.
	add(`The end of the range can not be less than start of the range for binary search mode\.`, "the range ends below its start: write the lower number first")
	add(`The --latency-threshold cannot be 0 for binary search mode\.`, "--binary-search needs the latency to search for: add -l TIME, such as -l 50ms")
	add(`The end of the range can not be 0 \(or 0\.0\) for binary search mode\.`, "--binary-search needs the end of the range, as in --concurrency-range 1:64")
	add(`The end of the search range and the latency limit can not be both 0 .*`, "a range without an end needs a latency at which it ends: add -l TIME, such as -l 50ms")
	add(`--request-count can not be less than concurrency`, "--request-count is lower than the concurrency: send at least as many requests")
	add(`--request-count not supported with multiple .* values in one run`, "--request-count is for one level: give one level, or use --duration TIME for each of several")
	add(`--warmup-request-count not supported with multiple .* values in one run`, "--warmup-request-count is for one level: give one level")
	// Any other option.
	add(`Failed to parse (\S+)(?: \([^)]*\))?\. Unsupported type provided: '(.*)'\. Choose one of (.*)\.`, "$1 is one of $3, not '$2'")
	add(`Failed to parse (\S+)(?: \([^)]*\))?\. Invalid value provided: (.*)`, "$1 does not take the value '$2'")
	add(`Failed to parse (\S+)(?: \([^)]*\))?\. The number is out of range: (.*)`, "$1: the number $2 is out of range")
	add(`Failed to parse (\S+)(?: \([^)]*\))?\. The (.*?)\.?`, "$1: the $2")
	add(`Failed to parse (\S+)(?: \([^)]*\))?\. (.*?)\.?`, "$1: $2")
	return list
})

// reworded is a refusal of perf_analyzer in the words of redline profile.
func reworded(text string) string {
	for _, r := range rewordings() {
		if m := r.original.FindStringSubmatchIndex(text); m != nil {
			return string(r.original.ExpandString(nil, r.ours, text, m))
		}
	}
	return text
}
