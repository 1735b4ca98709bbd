package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/secret"
)

// TestWrongCommandLines holds that a command line which a new user may try, mostly one from the documentation of another tool
// with redline in the place of that tool, is answered in at most two lines that name what to write.
func TestWrongCommandLines(t *testing.T) {
	count := 0
	f := func(line, want string) {
		t.Helper()
		count++
		secrets := &secret.Set{}
		var out, errs bytes.Buffer
		p := &command.IO{
			Args: strings.Fields(line), Stdout: &out, Stderr: &errs, Width: noTerminal, Getenv: func(string) string { return "" },
			Secrets: secrets, Files: pending.New(secrets),
		}
		code := Main(p)
		text := secrets.Redact(errs.String()) // as the streams of the process do
		if code != command.ExitError && code != command.ExitUsage || out.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q", line, code, out.String())
		}
		if n := strings.Count(text, "\n"); n < 1 || n > 2 {
			t.Errorf("%s: %d lines:\n%s", line, n, text)
		}
		if strings.Contains(text, "hunter22") {
			t.Errorf("%s: the answer has the secret:\n%s", line, text)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: answered\n%sand not with %s", line, text, want)
		}
	}
	// Misspelled words.
	f("redline proflie -m simple", "did you mean 'redline profile'?")
	f("redline lmm -m llama", "did you mean 'redline llm'?")
	f("redline profile -m simple --concurency-range 4", "did you mean --concurrency-range?")
	f("redline profile -m simple --request_rate_range 4", "did you mean --request-rate-range?")
	f("redline llm -m llama --concurency 4", "did you mean --concurrency?")
	f("redline llm -m llama --steaming", "did you mean --streaming?")
	f("redline serve --http-prot 80", "did you mean --http-port?")
	f("redline history --limit 5 --jsn", "unknown option '--limit'")
	f("redline compare a b --formatt json", "did you mean --format?")
	f("redline -m simple", "options come after the command")
	f("redline llm concurrency 4 -m llama", "did you mean --concurrency?")
	f("redline profile -m simple -streaming", "has two dashes: --streaming")
	// perf_analyzer.
	f("redline perf_analyzer -m simple --concurrency-range 1:4", "redline profile -m MODEL")
	f("redline profile --model simple", "is written -m MODEL")
	f("redline profile -m simple --url localhost:8001", "is written -u HOST:PORT")
	f("redline profile -m simple --batch-size 8", "is written -b N")
	f("redline profile -m simple localhost:8001", "write -u before the address")
	f("redline profile -m simple --measurement-mode count", "count_windows")
	f("redline profile -m simple -i pigeon", "redline profile: -i is http or grpc, not \"pigeon\"\n")
	f("redline profile -m simple --shape 16", "--shape is NAME:DIMENSIONS, such as INPUT0:3,224,224")
	f("redline profile -m simple --concurrency-range 1:4 --binary-search", "add -l TIME, such as -l 50ms")
	f("redline profile -m simple --concurrency-range 1,x", "--concurrency-range is a list of whole numbers above 0, as 1,4,8")
	f("redline profile -m simple --concurrency-range 4 --request-rate-range 50", "--request-rate-range and --concurrency-range exclude each other: leave one out")
	f("redline profile -m simple --metrics-url localhost:8002/metrics", "add --collect-metrics")
	f("redline profile -m simple --request-distribution normal", `is poisson or constant, not "normal"`)
	f("redline llm -m llama --latency-threshold 50 --binary-search", "redline find llm --slo RULE")
	// GenAI-Perf.
	f("redline genai-perf profile -m gpt2 --streaming", "redline llm -m MODEL")
	f("redline llm profile -m gpt2 --streaming", "leave it out")
	f("redline llm -m gpt2 --request-count 50 -- -v", "without --")
	f("redline process-export-files dir", "redline compare A B")
	f("redline analyze -m gpt2 --sweep-type concurrency", "--concurrency 1,4,16")
	// AIPerf.
	f("redline aiperf profile --model m --url localhost:8000", "redline llm -m MODEL")
	f("redline plot artifacts", "redline report RUN")
	f("redline llm -m m --reset-kv-cache", "--cache-bust")
	f("redline llm -m m --api-port 80", "--metrics-listen")
	f("redline llm -m m --search-space concurrency=1:64", "redline find llm --slo RULE")
	f("redline llm -m m --ttft-sla-ms 200", "redline find llm --slo")
	// GuideLLM.
	f("redline benchmark --target http://localhost:8000", "redline llm")
	f("redline llm --target http://localhost:8000 --rate-type sweep --max-seconds 30", "use -u HOST:PORT")
	f("redline llm -m m --rate-type sweep", "--request-rate 1,5,10")
	f("redline llm -m m --rate-type sweep", "redline find llm --slo RULE")
	f("redline llm -m m --max-seconds 30", "--benchmark-duration SECONDS")
	f("redline llm -m m --data prompt_tokens=256,output_tokens=128", "--isl N --osl N")
	// vLLM's benchmark.
	f("redline bench serve --model m --num-prompts 10", "redline llm")
	f("redline llm --model m --dataset-name random --num-prompts 10", "--input-file")
	f("redline llm --model m --random-input-len 1024 --random-output-len 128", "use --isl N")
	f("redline llm --model m --max-concurrency 200", "use --concurrency N")
	f("redline llm --model m --base-url http://127.0.0.1:8000", "use -u HOST:PORT")
	f("redline llm --model m --save-result", "--json FILE")
	// LLMPerf.
	f("redline llm --model m --mean-input-tokens 550 --num-concurrent-requests 1", "use --isl N")
	f("redline llm --model m --max-num-completed-requests 2", "use --request-count N")
	// k6, vegeta, oha, ghz.
	f("redline profile -m simple --vus 10 --duration 30s", "--concurrency-range N")
	f("redline attack -rate=50 -duration=10s", "--request-rate-range RATE")
	f("redline run --vus 10 --duration 30s script.js", "write the load into the scenario")
	f("redline run script.js", "a scenario is a YAML file")
	f("redline run -m simple --request-rate-range 50", "write it into the scenario")
	f("redline profile -m simple -rate=50", "use --request-rate-range N")
	f("redline profile -m simple -duration=10s", "two dashes: --duration")
	f("redline profile -m simple -n 200", "--request-count N")
	f("redline profile -m simple -q 50", "--request-rate-range N")
	f("redline http://localhost:8000", "redline inspect -u http://localhost:8000")
	f("redline http://me:hunter22@localhost:8000", "redline inspect -u http://***@localhost:8000")
	f("redline profile -m simple http://me:hunter22@localhost:8000", "write -u before the address")
	f("redline profile -m simple --target-url=http://me:hunter22@localhost:8000/?token=hunter22", "unknown option '--target-url'")
	f("perf_analyzer -m simple --target-url=http://me:hunter22@localhost:8000/?token=hunter22", "unknown option '--target-url'")
	f("redline -n 200 -c 10 http://localhost:8000", "options come after the command")
	f("redline profile --insecure --call helloworld.Greeter/SayHello", "--ssl-grpc-use-ssl")
	f("redline profile -m simple --threshold p99<50", "--assert 'p99<50ms'")
	f("redline capacity -m simple --slo p99<50ms", "redline find profile --slo RULE")
	f("redline nonsense", "redline help")
	if count < 40 {
		t.Errorf("%d command lines", count)
	}
}
