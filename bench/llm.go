package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/records"
	"github.com/redline-bench/redline/internal/calibrate"
)

// The pinned times of the server for language models.
const (
	llmTTFT   = 100 * time.Millisecond
	llmITL    = 20 * time.Millisecond
	llmTokens = 20
)

// llmTool is a program that measures a language model: its command line, and where its figures are.
type llmTool struct {
	name  string
	argv  func(addr, dir string, streams, n int) []string
	read  func(dir string) (llmFigures, error)
	error string // why it cannot be measured
}

// llmFigures are means and p99 in milliseconds. Requests are set where the tool tells of each.
type llmFigures struct {
	TTFT, TTFT99, ITL, ITL99 float64
	requests                 []calibrate.Stream // up to the first token
}

// llmRows holds what `redline llm`, and AIPerf and GuideLLM where they are in the cache folder, report against the
// server's own log. A busy machine only ever adds error, so the best round counts.
func llmRows(ctx context.Context, e *env) error {
	tools := []llmTool{e.redlineLLM(), e.aiperf(), e.guideLLM()}
	for _, t := range tools {
		if t.error != "" {
			e.report.note("%s: NOT MEASURED: %s", t.name, t.error)
		}
	}
	for _, streams := range []int{1, 64, 128, 512} {
		for _, t := range tools {
			if t.error != "" {
				continue
			}
			best := []float64{math.Inf(1)}
			rounds := e.rounds
			if t.name != "redline" {
				if rounds = 1; streams != 64 && streams != 128 {
					continue // they take half a minute each; these two are the ones that people quote
				}
			}
			for range rounds {
				errs, err := e.llmTruth(ctx, t, streams)
				if err != nil {
					if t.name == "redline" {
						return err
					}
					e.report.note("%s at %d streams: NOT MEASURED: %v", t.name, streams, err)
					break
				}
				if most := slices.Max(errs); math.IsNaN(most) {
					e.report.note("%s at %d streams: NOT MEASURED: its figures are no numbers: %v", t.name, streams, errs)
				} else if most < slices.Max(best) {
					best = errs
				}
			}
			if len(best) == 1 {
				continue
			}
			e.report.addErrors("llm: ", t.name, streams, best, t.name == "redline")
		}
		e.progress("llm, %d streams", streams)
	}
	return nil
}

// llmTruth runs a tool once and returns how far its four figures are from the server's log.
func (e *env) llmTruth(ctx context.Context, t llmTool, streams int) ([]float64, error) {
	dir, err := os.MkdirTemp(e.dir, "llm-")
	if err != nil {
		return nil, err
	}
	log := filepath.Join(dir, "log.jsonl")
	srv, err := binary.Serve("", pinned(serverCore, e.bin, "serve", "--ttft", llmTTFT.String(), "--itl", llmITL.String(), "--request-log", log)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	_, err = measure(ctx, pinned(clientCore, t.argv(srv.Ports["openai"], dir, streams, max(8, 3*streams))...)...)
	srv.Stop()
	if err != nil {
		return nil, err
	}
	got, err := t.read(dir)
	if err != nil {
		return nil, err
	}
	want, err := llmLog(ctx, log, got.requests)
	if err != nil {
		return nil, err
	}
	return []float64{
		math.Abs(got.TTFT - want.TTFT), math.Abs(got.TTFT99 - want.TTFT99), math.Abs(got.ITL - want.ITL), math.Abs(got.ITL99 - want.ITL99),
	}, nil
}

// llmLog computes the figures from the server's log: a request's time to its first token, and its mean time between
// tokens. Where it is known when the client sent each request, times count from there: the way to the server is not an error
// of the client.
func llmLog(ctx context.Context, path string, told []calibrate.Stream) (llmFigures, error) {
	written, err := (&calibrate.Log{Path: path}).Streams(ctx, 0, 0)
	if err != nil {
		return llmFigures{}, err
	}
	written = slices.DeleteFunc(written, func(s calibrate.Stream) bool { return len(s.At) == 1 })
	if len(written) == 0 {
		return llmFigures{}, errors.New("the server's log has no streams")
	}
	var first, between []float64
	for _, s := range written {
		last := len(s.At) - 1
		first = append(first, float64(s.At[0]-s.From)/1e6)
		between = append(between, float64(s.At[last]-s.At[0])/1e6/float64(last))
	}
	if pairs, err := calibrate.PairStreams(told, written); err == nil && len(pairs) == len(written) {
		for i, p := range pairs {
			first[i] = float64(p.Written.At[0]-p.Seen.From) / 1e6
		}
	}
	return llmFigures{TTFT: mean(first), TTFT99: p99(first), ITL: mean(between), ITL99: p99(between)}, nil
}

func (e *env) redlineLLM() llmTool {
	return llmTool{
		name: "redline",
		argv: func(addr, dir string, streams, n int) []string {
			return []string{
				e.bin, "llm", "-m", "mock-llm", "-u", addr, "--streaming", "--concurrency", strconv.Itoa(streams), "--request-count", strconv.Itoa(n),
				"--isl", "20", "--osl", strconv.Itoa(llmTokens), "--artifact-dir", dir, "--no-history",
			}
		},
		read: aiperfFigures,
	}
}

// wordTokenizer writes a tokenizer of a few words for the peers, which make their prompts with one and would download it.
func (e *env) wordTokenizer() error {
	dir := e.file("words")
	return errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"tokenizer_class":"PreTrainedTokenizerFast","unk_token":"[UNK]"}`), 0o644),
		os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(`{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,`+
			`"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,`+
			`"model":{"type":"WordLevel","vocab":{"[UNK]":0,"the":1,"of":2,"and":3,"to":4},"unk_token":"[UNK]"}}`), 0o644))
}

// cached finds a program in the cache folder, where the tests put it.
func cached(pattern string) (string, string) {
	dir, err := peers.CacheDir()
	if err != nil {
		return "", err.Error()
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		return "", "not in the cache folder (" + pattern + "); make test-heavy puts AIPerf there, bash e2e/peers/venv.sh " + filepath.Join(dir, "guidellm-0.8.1") + " guidellm==0.8.1 puts GuideLLM there (6 GB)"
	}
	return found[0], ""
}

func (e *env) aiperf() llmTool {
	path, why := cached("aiperf-*/bin/aiperf")
	if err := e.wordTokenizer(); err != nil && why == "" {
		why = err.Error()
	}
	return llmTool{
		name: "AIPerf", error: why, read: aiperfFigures,
		argv: func(addr, dir string, streams, n int) []string {
			return []string{
				"env", "HOME=" + dir, path, "profile", "-m", "mock-llm", "--url", addr, "--endpoint-type", "chat", "--streaming", "--concurrency", strconv.Itoa(streams),
				"--request-count", strconv.Itoa(n), "--isl", "20", "--osl", strconv.Itoa(llmTokens), "--tokenizer", e.file("words"), "--use-server-token-count",
				"--ui", "none", "--artifact-dir", dir,
			}
		},
	}
}

// aiperfFigures reads profile_export.jsonl, which Redline writes too.
func aiperfFigures(dir string) (llmFigures, error) {
	list, err := records.Read(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil {
		return llmFigures{}, err
	}
	if len(list) == 0 {
		return llmFigures{}, errors.New("profile_export.jsonl has no requests")
	}
	var first, between []float64
	var f llmFigures
	for _, r := range list {
		first = append(first, r.TTFT)
		between = append(between, r.ITL)
		f.requests = append(f.requests, calibrate.Stream{ID: r.ID, From: r.From, At: r.At[:1]})
	}
	f.TTFT, f.TTFT99, f.ITL, f.ITL99 = mean(first), p99(first), mean(between), p99(between)
	return f, nil
}

func (e *env) guideLLM() llmTool {
	path, why := cached("guidellm-*/bin/guidellm")
	if err := e.wordTokenizer(); err != nil && why == "" {
		why = err.Error()
	}
	return llmTool{
		name: "GuideLLM", error: why, read: guideFigures,
		argv: func(addr, dir string, streams, n int) []string {
			return []string{
				"env", "HOME=" + dir, "HF_HUB_OFFLINE=1", path, "run", "--backend", "kind=openai_http,target=http://" + addr + ",model=mock-llm",
				"--profile", fmt.Sprintf("kind=concurrent,streams=%d", streams), "--constraint", fmt.Sprintf("kind=max_requests,count=%d", n),
				"--tokenizer", "kind=huggingface_auto,model=" + e.file("words"), "--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=20,output_tokens=%d", llmTokens),
				"--output", "kind=json,path=" + filepath.Join(dir, "guide.json"), "--disable-console",
			}
		},
	}
}

// guideFigures reads GuideLLM's report. Its times of single requests are seconds of the wall clock.
func guideFigures(dir string) (llmFigures, error) {
	type dist struct {
		Successful struct {
			Mean        float64 `json:"mean"`
			Percentiles struct {
				P99 float64 `json:"p99"`
			} `json:"percentiles"`
		} `json:"successful"`
	}
	var doc struct {
		Benchmarks []struct {
			Metrics struct {
				TTFT dist `json:"time_to_first_token_ms"`
				ITL  dist `json:"inter_token_latency_ms"`
			} `json:"metrics"`
			Requests struct {
				Successful []struct {
					Info struct {
						Timings struct {
							Start float64 `json:"request_start"`
							First float64 `json:"first_token_iteration"`
						} `json:"timings"`
					} `json:"info"`
				} `json:"successful"`
			} `json:"requests"`
		} `json:"benchmarks"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "guide.json"))
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil || len(doc.Benchmarks) == 0 {
		return llmFigures{}, errors.Join(errors.New("no benchmark in GuideLLM's file"), err)
	}
	b := &doc.Benchmarks[0]
	f := llmFigures{
		TTFT: b.Metrics.TTFT.Successful.Mean, TTFT99: b.Metrics.TTFT.Successful.Percentiles.P99,
		ITL: b.Metrics.ITL.Successful.Mean, ITL99: b.Metrics.ITL.Successful.Percentiles.P99,
	}
	for _, r := range b.Requests.Successful {
		f.requests = append(f.requests, calibrate.Stream{From: int64(r.Info.Timings.Start * 1e9), At: []int64{int64(r.Info.Timings.First * 1e9)}})
	}
	return f, nil
}
