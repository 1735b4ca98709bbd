package llm_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// Every API of the reference server is measured, streamed where it streams, by the counts of the server.
func TestEndpoints(t *testing.T) {
	r := serve(t, "--ttft", "5ms", "--itl", "1ms")
	ranks := r.write(t, "ranks.jsonl", strings.Repeat(`{"texts":[{"name":"query","contents":["what"]},{"name":"passages","contents":["a b","c"]}]}`+"\n", 4))
	bodies := r.write(t, "bodies.jsonl", strings.Repeat(`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":6}`+"\n", 4))
	body := r.write(t, "body.tmpl", `{"model": {{json .Model}}, "prompt": {{json .Text}}, "max_tokens": {{.MaxTokens}}, "stream": {{.Stream}}}`)
	f := func(tokens float64, args ...string) {
		t.Helper()
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			lv := &r.llm(t, append([]string{"--concurrency", "2", "--request-count", "4", "--isl", "10", "--osl", "6"}, args...)...).Levels[0]
			if got := metric(t, lv, "request_count").Avg; got != 4 || len(lv.Failures) > 0 {
				t.Errorf("%v answers, %+v", got, lv.Failures)
			}
			if tokens > 0 {
				if got := metric(t, lv, "output_sequence_length").Avg; got != tokens {
					t.Errorf("%v tokens, want %v", got, tokens)
				}
			}
			if strings.Contains(strings.Join(args, " "), "--streaming") && metric(t, lv, "time_to_first_token").Avg < 5 {
				t.Error("a first token before its time")
			}
		})
	}
	for _, kind := range []string{"chat", "completions", "responses", "messages", "huggingface_generate"} {
		f(6, "--endpoint-type", kind, "--streaming")
		f(6, "--endpoint-type", kind)
	}
	f(0, "--endpoint-type", "embeddings")
	for _, kind := range []string{"cohere_rankings", "hf_tei_rankings", "nim_rankings"} {
		f(0, "--endpoint-type", kind, "--input-file", ranks)
		f(0, "--endpoint-type", kind) // made ones
	}
	f(6, "--endpoint-type", "raw", "--input-file", bodies)
	f(6, "--endpoint-type", "template", "--template", body, "--endpoint", "v1/completions", "--response-field", "choices.0.text",
		"--usage-fields", "usage.prompt_tokens,usage.completion_tokens")
	f(6, "--endpoint-type", "chat", "--streaming", "--image-batch-size", "1", "--image-width-mean", "16", "--image-height-mean", "16")
	f(6, "--endpoint-type", "chat", "--streaming", "--http-version", "2")
	f(6, "--endpoint-type", "chat", "--streaming", "--conversation-turn-mean", "2")
	f(6, "--endpoint-type", "chat", "--streaming", "--request-rate", "200", "--prefill-concurrency", "1")

	tri := func(address string, args ...string) {
		t.Helper()
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "r.json")
			e := r.redline(t, append([]string{"llm", "-u", address, "--request-count", "4", "--osl", "6", "--isl", "10", "--json", file}, args...)...)
			if e.code != 0 {
				t.Fatal(e.out + e.err)
			}
			lv := &binary.Result(t, file).Levels[0]
			if metric(t, lv, "request_count").Avg != 4 || metric(t, lv, "output_sequence_length").Avg != 6 {
				t.Errorf("%+v", lv.Metrics)
			}
		})
	}
	tok := r.words(t)
	tri(r.GRPC, "-m", "ensemble", "--endpoint-type", "kserve")
	tri(r.GRPC, "-m", "tensorrt_llm", "--endpoint-type", "kserve_tokens", "--tokenizer", tok, "--use-server-token-count")
	tri(r.HTTP, "-m", "ensemble", "--endpoint-type", "triton_generate", "--streaming")
}

// Bad input ends with one line that says what is wrong, and code 99; an address where nobody listens too.
func TestBadInput(t *testing.T) {
	r := serve(t)
	f := func(want string, args ...string) {
		t.Helper()
		e := r.redline(t, append([]string{"llm", "-m", "m", "-u", r.Ports["openai"]}, args...)...)
		if e.code != 99 || !strings.Contains(e.err, want) || strings.Count(e.err, "\n") != 1 {
			t.Errorf("%v: code %d, %q; want %q", args, e.code, e.err, want)
		}
	}
	empty, broken := r.write(t, "empty.jsonl", ""), r.write(t, "broken.jsonl", "{\"input\":\"a\"}\n{\"input\":\n")
	tok := r.write(t, "tokenizer.json", "{")
	f("missing.jsonl", "--input-file", "missing.jsonl")
	f("empty", "--input-file", empty)
	f("line 2", "--input-file", broken)
	f("tokenizer", "--tokenizer", tok)
	f("--tokenizer DIR", "--apply-chat-template")
	f("no chat template", "--tokenizer", r.words(t), "--apply-chat-template")
	f("the chat template alone has 4 tokens", "--tokenizer", testkit.ChatTokenizer(t), "--apply-chat-template", "--isl", "4")
	f("--request-rate and --stages", "--request-rate", "5", "--stages", "5:1s")
	f("--prefill-concurrency", "--prefill-concurrency", "2")
	f("--num-users", "--user-centric-rate", "2")
	f("--exports", "--exports", "nonsense")
	f("--goodput", "--goodput", "nonsense:1")
	f("127.0.0.1:1", "-u", "127.0.0.1:1")
	for status, class := range map[string]string{"401": "401", "404": "404", "429": "429", "500": "500"} {
		f("the server answered with HTTP "+class+" ", "--request-count", "3", "--streaming", "-H", "X-Redline-Stream: status="+status)
	}
}

// An interrupt reports what was measured, writes the files, and ends with 130.
func TestInterrupt(t *testing.T) {
	r := serve(t, "--ttft", "5ms", "--itl", "1ms", "--request-log", "log.jsonl")
	file := filepath.Join(r.dir, "r.json")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), "llm", "-m", "m", "-u", r.Ports["openai"], "--streaming", "--concurrency", "4",
		"--benchmark-duration", "60", "--osl", "8", "--json", file, "--artifact-dir", filepath.Join(r.dir, "art"))
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const answered = 50
	if n := len(readLog(t, filepath.Join(r.dir, "log.jsonl"), answered)); n < answered {
		t.Errorf("the server answered %d requests in time, want %d", n, answered)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(out.String(), "Time to First Token") {
		t.Fatalf("code %d\n%s", code, out.String())
	}
	res := binary.Result(t, file)
	if !res.Interrupted || metric(t, &res.Levels[0], "request_count").Avg < answered-4 { // four are in flight
		t.Errorf("%+v", res)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "art", "profile_export_aiperf.json"))
	if err != nil || !json.Valid(text) || !strings.Contains(string(text), `"is_complete"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// Memory does not grow with the length of a run, with every file written: 1 M requests of 256 events may add 64 MiB, so
// a request may add 64 bytes. The first requests fill buffers; what counts is the slope after them.
func TestMemoryIsFlat(t *testing.T) {
	short, long := 1500, 4500
	if outcome.Heavy() {
		short, long = 20_000, 40_000 // 6 GB of files
	}
	r := serve(t, "--ttft", "0", "--itl", "0")
	size := func(n int) int64 {
		dir := filepath.Join(r.dir, strconv.Itoa(n))
		e := r.redline(t, "llm", "-m", "m", "-u", r.Ports["openai"], "--streaming", "--concurrency", "8", "--request-count", strconv.Itoa(n), "--osl", "256", "--isl", "16",
			"--artifact-dir", dir, "--exports", "all", "--benchmark-grace-period", "60")
		if e.code != 0 {
			t.Fatal(e.out + e.err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		return e.rss
	}
	t.Logf("100 requests: %.1f MiB", float64(size(100))/(1<<20))
	a, b := size(short), size(long)
	// The garbage collector's swing is some megabytes, whatever the number of requests; on a busy machine it may be more, once.
	allowed := 64*float64(long-short) + 24<<20
	for tries := 0; float64(b-a) > allowed && tries < 2; tries++ {
		b = min(b, size(long))
	}
	t.Logf("%d requests: %.1f MiB, %d requests: %.1f MiB, %.0f bytes a request", short, float64(a)/(1<<20), long, float64(b)/(1<<20), float64(b-a)/float64(long-short))
	if float64(b-a) > allowed {
		t.Errorf("%d more requests take %.1f MiB more", long-short, float64(b-a)/(1<<20))
	}
}

// Repeats give intervals over the runs; a target ends a level by itself.
func TestRepeatsAndTargets(t *testing.T) {
	r := serve(t, "--ttft", "10ms", "--itl", "1ms")
	m := metric(t, &r.llm(t, "--streaming", "--runs", "3", "--request-count", "20", "--concurrency", "4", "--osl", "4", "--isl", "10").Levels[0], "time_to_first_token")
	if m.Interval == nil || m.Count != 3 || m.Avg < 10 {
		t.Errorf("%+v", m)
	}
	n := metric(t, &r.llm(t, "--streaming", "--until", "latency +- 60 %", "--concurrency", "4", "--osl", "4", "--isl", "10", "--benchmark-duration", "30").Levels[0], "request_count").Avg
	if n < 40 || n > 5000 {
		t.Errorf("%v requests until the width was reached", n)
	}
}

// A real model: llama.cpp's server with random weights. Counts are the server's own, times are in order.
func TestLlama(t *testing.T) {
	if _, err := peers.InstallLlama(t.Context()); err != nil {
		outcome.NotTested(t, "llama.cpp's server", err, "")
	}
	dir := t.TempDir()
	s, err := peers.StartLlama(t.Context(), dir, 4, 512)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	r := &rig{dir: dir}
	for _, kind := range []string{"chat", "completions"} {
		file := filepath.Join(dir, kind+".json")
		e := r.redline(t, "llm", "-m", "tiny", "-u", s.Addr, "--endpoint-type", kind, "--streaming", "--concurrency", "1,4", "--request-count", "12", "--isl", "20", "--osl", "16",
			"--extra-inputs", "ignore_eos:true", "--json", file)
		if e.code != 0 {
			t.Fatal(e.out + e.err)
		}
		for i := range 2 {
			lv := &binary.Result(t, file).Levels[i]
			get := func(tag string) float64 { return metric(t, lv, tag).Avg }
			if get("request_count") != 12 || get("output_sequence_length") != 16 || get("input_sequence_length") < 5 {
				t.Errorf("%s: %v answers of %v tokens to %v", kind, get("request_count"), get("output_sequence_length"), get("input_sequence_length"))
			}
			first, itl, all := get("time_to_first_token"), get("inter_token_latency"), get("request_latency")
			if first <= 0 || itl <= 0 || all < first || math.Abs(first+15*itl-all) > 0.1*all {
				t.Errorf("%s: first token %v, between tokens %v, all %v ms", kind, first, itl, all)
			}
			t.Log(kind, fmt.Sprintf("first token %.2f ms, between tokens %.3f ms, all %.2f ms", first, itl, all))
		}
	}
}
