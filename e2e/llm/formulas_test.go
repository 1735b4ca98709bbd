package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// moment is an event of a stream: when it was, and what it carried.
type moment struct {
	at   int64
	kind string // thought, text, done, or other
}

// asked is one request as the files of a run have it, failed or not.
type asked struct {
	id        string
	due, sent int64
	end       int64
	failed    bool
	events    []moment
}

// account is what the formulas of docs/metrics.md make of requests, with nothing of the program's own code: the values of
// each metric, a list for those that have a value per request and one value for the others.
type account struct {
	s      *pinned
	values map[string][]float64
	totals map[string]float64
}

func (a *account) add(tag string, v float64) { a.values[tag] = append(a.values[tag], v) }

// request adds the values of a whole response to the n-th request.
func (a *account) request(r *asked, n int) {
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	from := r.sent
	if a.s.open {
		from = r.due
		a.add("send_lag", ms(r.sent-r.due))
	}
	var chunks []moment
	last := r.events[0] // before the end mark
	for _, e := range r.events {
		if e.kind == "thought" || e.kind == "text" {
			chunks = append(chunks, e)
		}
		if e.kind != "done" {
			last = e
		}
	}
	first, final := chunks[0].at, chunks[len(chunks)-1].at
	answer := chunks[slices.IndexFunc(chunks, func(e moment) bool { return e.kind == "text" })].at
	thoughts, texts := a.s.tokens(n)
	length, k := float64(thoughts+texts), 1.0
	if a.s.each > 1 {
		k = float64(a.s.each)
	}
	ttft, latency := ms(first-from), ms(final-from)
	itl := ms(final-first) / (length - k)
	for tag, v := range map[string]float64{
		"time_to_first_token": ttft, "time_to_first_output_token": ms(answer - from), "time_to_second_token": ms(chunks[1].at - first),
		"request_latency": latency, "inter_token_latency": itl,
		"e2e_output_token_throughput": length / latency * 1000, "decode_duration": ms(final - first), "prefill_throughput_per_user": 6 / ttft * 1000,
		"input_sequence_length": 6, "output_token_count": float64(texts), "reasoning_token_count": float64(thoughts), "output_sequence_length": length,
		"thinking_efficiency": float64(thoughts) / float64(texts), "requested_osl": askedTokens, "osl_mismatch_diff_pct": (length - askedTokens) / askedTokens * 100,
		"usage_prompt_tokens": 6, "usage_completion_tokens": length, "usage_total_tokens": 6 + length, "usage_reasoning_tokens": float64(thoughts),
		"usage_prompt_cache_read_tokens": 2, "usage_prompt_tokens_diff_pct": 20, "usage_completion_tokens_diff_pct": 0, "tokenizer_output_diff_pct": 0,
		"vllm_ttft": ms(r.events[0].at - r.sent), "vllm_e2el": ms(last.at - r.sent), "vllm_tpot": ms(last.at-r.events[0].at) / (length - 1),
		"guidellm_tpot": latency / length, "guidellm_itl": ms(final-first) / (length - 1), "guidellm_request_latency": ms(r.events[len(r.events)-1].at - r.sent),
	} {
		a.add(tag, v)
	}
	if a.s.open {
		a.add("time_to_first_token_from_send", ms(first-r.sent))
		a.add("request_latency_from_send", ms(final-r.sent))
	}
	if itl > 0 { // all of it may come at once on a busy machine
		a.add("output_token_throughput_per_user", 1000/itl)
	}
	if first > r.events[0].at {
		a.add("vllm_itl", ms(first-r.events[0].at))
	}
	for i := 1; i < len(chunks); i++ {
		gap := ms(chunks[i].at - chunks[i-1].at)
		a.add("inter_chunk_latency", gap)
		a.add("vllm_itl", gap)
		for range a.s.each { // where each chunk says its tokens
			if a.s.each > 1 {
				a.add("per_token_latency", gap/float64(a.s.each))
			}
		}
	}
	if ttft <= goodTTFT && itl <= goodITL {
		a.totals["good_request_count"]++
	}
	if math.Abs(length-askedTokens)/askedTokens > 0.05 {
		a.totals["osl_mismatch_count"]++
	}
}

// sum is all of a metric's values together.
func (a *account) sum(tag string) (sum float64) {
	for _, v := range a.values[tag] {
		sum += v
	}
	return sum
}

// reckon computes everything of a list of requests.
func reckon(s *pinned, list []asked) *account {
	a := &account{s: s, values: map[string][]float64{}, totals: map[string]float64{"good_request_count": 0, "osl_mismatch_count": 0}}
	t := a.totals
	start, stop := int64(math.MaxInt64), int64(0)  // of whole responses
	begun, ended := int64(math.MaxInt64), int64(0) // of all requests
	whole, failed, busy := 0.0, 0.0, int64(0)
	for i := range list {
		r := &list[i]
		begun, ended, busy = min(begun, r.sent), max(ended, r.end), busy+r.end-r.sent
		if r.failed {
			failed++
			continue
		}
		whole++
		a.request(r, s.number(r.id))
		start = min(start, r.sent)
		for _, e := range r.events {
			if e.kind == "text" {
				stop = max(stop, e.at)
			}
		}
	}
	seconds := float64(stop-start) / 1e9
	t["benchmark_duration"] = seconds
	t["request_throughput"] = whole / seconds
	t["goodput"], t["good_request_fraction"] = t["good_request_count"]/seconds, t["good_request_count"]/(whole+failed)
	t["input_token_throughput"], t["output_token_throughput"] = a.sum("input_sequence_length")/seconds, a.sum("output_sequence_length")/seconds
	t["total_token_throughput"] = t["input_token_throughput"] + t["output_token_throughput"]
	t["request_count"], t["error_request_count"], t["completed_request_count"] = whole, failed, whole+failed
	t["request_error_rate"] = 100 * failed / (whole + failed)
	t["effective_concurrency"] = float64(busy) / float64(ended-begun)
	t["usage_discrepancy_count"] = whole // each prompt is off by a fifth
	t["overall_usage_prompt_cache_read_pct"] = 100 * 2.0 / 6
	for tag, of := range map[string]string{
		"total_isl": "input_sequence_length", "total_osl": "output_sequence_length", "total_output_tokens": "output_token_count",
		"total_reasoning_tokens": "reasoning_token_count", "total_usage_prompt_tokens": "usage_prompt_tokens",
		"total_usage_completion_tokens": "usage_completion_tokens", "total_usage_total_tokens": "usage_total_tokens",
		"total_usage_prompt_cache_read_tokens": "usage_prompt_cache_read_tokens",
	} {
		t[tag] = a.sum(of)
	}
	return a
}

// readRaw reads the requests of profile_export_raw.jsonl, with the times of every event as the client has them.
func readRaw(t *testing.T, path string) []asked {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []asked
	for lines := json.NewDecoder(f); lines.More(); {
		var line struct {
			Metadata struct {
				ID    string `json:"x_request_id"`
				Due   int64  `json:"credit_issued_ns"`
				Start int64  `json:"request_start_ns"`
				End   int64  `json:"request_end_ns"`
			} `json:"metadata"`
			Start     int64 `json:"start_perf_ns"`
			Responses []struct {
				At      int64 `json:"perf_ns"`
				Packets []struct {
					Value string `json:"value"`
				} `json:"packets"`
			} `json:"responses"`
			Error json.RawMessage `json:"error"`
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		m := line.Metadata
		r := asked{id: m.ID, due: m.Due, sent: m.Start, end: m.End, failed: string(line.Error) != "null"}
		for _, e := range line.Responses {
			kind := "other"
			switch text := e.Packets[0].Value; {
			case text == "[DONE]":
				kind = "done"
			case strings.Contains(text, `"reasoning_content":"`):
				kind = "thought"
			case strings.Contains(text, `"content":" `):
				kind = "text"
			}
			r.events = append(r.events, moment{e.At - line.Start + m.Start, kind})
		}
		if n := len(r.events); n > 0 && !r.failed {
			r.end = r.events[n-1].at
		}
		out = append(out, r)
	}
	return out
}

// summary is a distribution, computed in the plainest way: numpy's percentiles and deviation.
func summary(values []float64) (out map[string]float64) {
	v := slices.Sorted(slices.Values(values))
	n := float64(len(v))
	out = map[string]float64{"count": n, "min": v[0], "max": v[len(v)-1]}
	for _, x := range v {
		out["avg"] += x / n
	}
	for _, x := range v {
		out["var"] += (x - out["avg"]) * (x - out["avg"]) / n
	}
	for _, p := range []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9} {
		x := p / 100 * (n - 1)
		k := int(x)
		out[fmt.Sprint("p", p)] = v[k] + (v[min(k+1, len(v)-1)]-v[k])*(x-float64(k))
	}
	return out
}

// Every metric of docs/metrics.md is what its formula makes of the times of the events. Computed from the client's own
// times they must be equal; computed from the server's log of when it wrote each, they are as near as the clocks are.
func TestTimedFormulas(t *testing.T) {
	for _, s := range []*pinned{{name: "schedule", open: true, each: 1}, {name: "counts in every chunk", each: 2}} {
		t.Run(s.name, func(t *testing.T) {
			disturbance.Try(t, func() error { return checkFormulas(t, s) })
		})
	}
}

// checkFormulas measures once. What differs from the formulas fails the test; an error is a time that is too far from the
// server's log.
func checkFormulas(t *testing.T, s *pinned) error {
	t.Helper()
	r := folder(t)
	url := s.start(t)
	args := []string{
		"llm", "-m", "m", "-u", url, "--streaming", "--input-file", r.prompts(t, 60), "--tokenizer", r.templated(t), "--use-server-token-count", "--osl", fmt.Sprint(askedTokens),
		"--goodput", fmt.Sprintf("ttft:%v itl:%v", goodTTFT, goodITL), "--max-error-rate", "100", "--artifact-dir", "art", "--exports", "all", "--json", "r.json", "--no-history",
	}
	if s.open {
		args = append(args, "--request-rate", "60", "--arrival-pattern", "constant")
	} else {
		args = append(args, "--concurrency", "4", "--per-chunk-usage")
	}
	if e := r.redline(t, args...); e.code != 0 {
		t.Fatalf("exit code %d\n%s%s", e.code, e.out, e.err)
	}
	lv := &binary.Result(t, filepath.Join(r.dir, "r.json")).Levels[0]
	list := readRaw(t, filepath.Join(r.dir, "art", "profile_export_raw.jsonl"))
	if len(list) != 60 {
		t.Fatalf("%d requests in the files", len(list))
	}
	exact(t, reckon(s, list), lv.Metrics)
	adjusted(t, reckon(s, list), filepath.Join(r.dir, "art", "profile_export_aiperf.json"))
	classes := map[string]uint64{}
	for _, f := range lv.Failures {
		classes[f.Class] += f.Count
	}
	for class, n := range map[string]uint64{"server 500": 6, "server 429": 6, "server": 6, "transport": 6} {
		if classes[class] != n {
			t.Errorf("failures %v, want %d of class %s", classes, n, class)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	return near(reckon(s, s.told(t, list)), lv.Metrics)
}

// exact compares every metric with the account: none is missing, none has no formula.
func exact(t *testing.T, want *account, got []result.Metric) {
	t.Helper()
	same := func(tag, stat string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%s, %s: %v, computed by hand %v", tag, stat, got, want)
		}
	}
	seen := map[string]bool{}
	for i := range got {
		m := &got[i]
		seen[m.Tag] = true
		values, listed := want.values[m.Tag]
		total, single := want.totals[m.Tag]
		switch {
		case strings.HasSuffix(m.Tag, "_timestamp"):
		case !listed && !single:
			t.Errorf("nobody knows the formula of %s", m.Tag)
		case single:
			same(m.Tag, "value", m.Avg, total)
		default:
			s := summary(values)
			same(m.Tag, "avg", m.Avg, s["avg"])
			same(m.Tag, "count", float64(m.Count), s["count"])
			same(m.Tag, "min", m.Min, s["min"])
			same(m.Tag, "max", m.Max, s["max"])
			same(m.Tag, "std", m.Std, math.Sqrt(s["var"]))
			for _, q := range m.Quantiles {
				same(m.Tag, fmt.Sprint("p", q.P), q.V, s[fmt.Sprint("p", q.P)])
			}
			if len(m.Quantiles) != 10 {
				t.Errorf("%s has %d percentiles", m.Tag, len(m.Quantiles))
			}
		}
	}
	for tag := range want.values {
		if !seen[tag] {
			t.Errorf("there is no %s", tag)
		}
	}
	for tag := range want.totals {
		if !seen[tag] {
			t.Errorf("there is no %s", tag)
		}
	}
}

// adjusted holds the percentiles with failures in them: sorted, a failure is behind every value, and the nearest rank counts.
func adjusted(t *testing.T, want *account, file string) {
	t.Helper()
	var doc map[string]json.RawMessage
	readJSON(t, file, &doc)
	for _, of := range []string{"time_to_first_token", "request_latency", "inter_token_latency", "decode_duration"} {
		var got map[string]any
		if err := json.Unmarshal(doc["adj_"+of], &got); err != nil {
			t.Errorf("adj_%s: %v", of, err)
			continue
		}
		values := slices.Sorted(slices.Values(want.values[of]))
		n := len(values) + int(want.totals["error_request_count"])
		for _, p := range []float64{1, 5, 10, 25, 50, 75, 90, 95, 99} {
			k := int(math.RoundToEven(p / 100 * float64(n-1)))
			v, finite := got[fmt.Sprint("p", p)].(float64)
			if finite != (k < len(values)) || finite && math.Abs(v-values[k]) > 1e-6*values[k] {
				t.Errorf("adj_%s: p%v is %v, rank %d of %d values", of, p, got[fmt.Sprint("p", p)], k, len(values))
			}
		}
	}
}

// near compares the averages with the server's own log: times by milliseconds, all else by twentieths.
func near(want *account, got []result.Metric) error {
	var wrong []error
	for i := range got {
		m := &got[i]
		if strings.HasSuffix(m.Tag, "_timestamp") || strings.HasPrefix(m.Tag, "good") { // a response may be at the bound of goodput
			continue
		}
		x, single := want.totals[m.Tag]
		if !single {
			x = summary(want.values[m.Tag])["avg"]
		}
		allowed := meanTolerance
		if m.Unit != "ms" {
			allowed = max(1e-9, 0.05*math.Abs(x))
		}
		if math.Abs(m.Avg-x) > allowed {
			wrong = append(wrong, fmt.Errorf("%s is %v %s, by the server's log %v; %v is allowed", m.Tag, m.Avg, m.Unit, x, allowed))
		}
	}
	return errors.Join(wrong...)
}
