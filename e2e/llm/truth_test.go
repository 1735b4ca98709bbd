package llm_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/records"
	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// readLog waits until the server's log has that many streamed responses, at most 30 s, and returns all of them.
func readLog(t *testing.T, path string, want int) []calibrate.Stream {
	t.Helper()
	log, err := (&calibrate.Log{Path: path}).Streams(t.Context(), want, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// pairs finds the requests of profile_export.jsonl in the server's log.
func pairs(t *testing.T, file string, log []calibrate.Stream) []calibrate.Pair {
	t.Helper()
	list, err := records.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	out, err := calibrate.PairStreams(records.Streams(list), log)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stats are the mean and a percentile of milliseconds, as numpy has them.
func stats(values []float64) (mean, p99 float64) {
	slices.Sort(values)
	for _, v := range values {
		mean += v / float64(len(values))
	}
	x := 0.99 * float64(len(values)-1)
	k := int(x)
	p99 = values[k]
	if k+1 < len(values) {
		p99 += (values[k+1] - values[k]) * (x - float64(k))
	}
	return mean, p99
}

// What the client may be off by, in milliseconds.
const (
	meanTolerance = 1.0
	p99Tolerance  = 3.0
)

// truthTokens is how long the responses are.
const truthTokens = 20

// Each metric agrees with the server's own log, from one stream to many, and also where many share a connection. The streams write
// their tokens at different times: on two cores the client and the server would wait for each other in a burst, and one such wait
// decides p99.
func TestTimedTruth(t *testing.T) {
	for _, way := range ways {
		for _, streams := range []int{1, 64, 128, 512} {
			itl := "20ms"
			if streams == 512 {
				itl = "80ms"
			}
			t.Run(way+" "+strconv.Itoa(streams), func(t *testing.T) {
				disturbance.Try(t, func() error { return truth(t, way, streams, itl) })
			})
		}
	}
}

// truth measures once and returns the times that are not as the server's log has them. Wrong counts fail the test.
func truth(t *testing.T, way string, streams int, itl string) error {
	t.Helper()
	r := serve(t, "--ttft", "100ms", "--ttft-stddev", "40ms", "--itl", itl, "--request-log", "log.jsonl")
	n := max(4, 2*streams)
	res, log := r.measure(t, way, n, "--concurrency", strconv.Itoa(streams), "--artifact-dir", filepath.Join(r.dir, "art"), "--exports", "records")
	want := map[string][]float64{}
	add := func(tag string, ns int64, parts int) { want[tag] = append(want[tag], float64(ns)/1e6/float64(parts)) }
	// The way of a request to the server is not an error of the client: times count from when the client sent it.
	both := pairs(t, filepath.Join(r.dir, "art", "profile_export.jsonl"), log)
	if len(both) != n {
		t.Fatalf("%d requests in the records, want %d", len(both), n)
	}
	for _, p := range both {
		sent, at := p.Seen.From, p.Written.At
		first, last := at[0], at[len(at)-1]
		add("time_to_first_token", first-sent, 1)
		add("request_latency", last-sent, 1)
		add("decode_duration", last-first, 1)
		add("time_to_second_token", at[1]-first, 1)
		add("inter_token_latency", last-first, len(at)-1)
		for i := 1; i < len(at); i++ {
			add("inter_chunk_latency", at[i]-at[i-1], 1)
		}
	}
	lv := &res.Levels[0]
	var wrong []error
	for tag, values := range want {
		got := metric(t, lv, tag)
		m, p := stats(values)
		g, _ := got.Find(99)
		t.Logf("%-22s mean %.3f ms, of the log %.3f; p99 %.3f, of the log %.3f", tag, got.Avg, m, g, p)
		// Over gRPC the server's log does not have the client's ids: requests are paired by the order of their first tokens, and a few pairs
		// are wrong. The mean latency is right nevertheless, its p99 is not.
		guessed := way == "gRPC" && tag == "request_latency"
		if math.Abs(got.Avg-m) > meanTolerance || !guessed && math.Abs(g-p) > p99Tolerance {
			wrong = append(wrong, fmt.Errorf("%s: mean %.3f ms, p99 %.3f; the server's log says %.3f and %.3f", tag, got.Avg, g, m, p))
		}
		if int(got.Count) != len(values) {
			t.Fatalf("%s has %d values, want %d", tag, got.Count, len(values))
		}
	}
	for tag, x := range map[string]float64{"output_sequence_length": truthTokens, "request_count": float64(n), "total_osl": float64(truthTokens * n)} {
		if got := metric(t, lv, tag); got.Avg != x {
			t.Fatalf("%s is %v, want %v", tag, got.Avg, x)
		}
	}
	return errors.Join(wrong...)
}

// ways are how answers can be streamed.
var ways = []string{"HTTP/1.1", "HTTP/2", "gRPC"}

// measure sends so many requests for responses of truthTokens and returns the result and the server's log of them.
func (r *rig) measure(t *testing.T, way string, n int, args ...string) (*result.Result, []calibrate.Stream) {
	t.Helper()
	args = append(args, "--streaming", "--request-count", strconv.Itoa(n), "--output-tokens-mean", strconv.Itoa(truthTokens), "--isl", "20")
	var res *result.Result
	switch way {
	case "HTTP/1.1":
		res = r.llm(t, args...)
	case "HTTP/2":
		res = r.llm(t, append(args, "--http-version", "2")...)
	case "gRPC":
		file := filepath.Join(t.TempDir(), "result.json")
		e := r.redline(t, append([]string{
			"llm", "-m", "tensorrt_llm", "-u", r.GRPC, "--json", file, "--endpoint-type", "kserve_tokens",
			"--tokenizer", r.words(t), "--use-server-token-count",
		}, args...)...)
		if e.code != 0 {
			t.Fatalf("exit code %d\n%s%s", e.code, e.out, e.err)
		}
		res = binary.Result(t, file)
	}
	log := readLog(t, filepath.Join(r.dir, "log.jsonl"), n)
	if len(log) != n {
		t.Fatalf("%d answers in the log, want %d", len(log), n)
	}
	for i := range log { // a model behind gRPC ends with a response without tokens, which its log does not count
		if len(log[i].At) < truthTokens {
			t.Fatalf("the server wrote %d tokens, want %d", len(log[i].At), truthTokens)
		}
		log[i].At = log[i].At[:truthTokens]
	}
	return res, log
}

// Other work on the machine only ever adds to a time. So the shortest times of many responses must be near the shortest of
// the server's log, however busy the machine is, and never below the pace of the server.
func TestShortestTimes(t *testing.T) {
	const (
		first, next = 10 * time.Millisecond, time.Millisecond
		requests    = 40
	)
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			r := serve(t, "--ttft", first.String(), "--itl", next.String(), "--request-log", "log.jsonl")
			res, log := r.measure(t, way, requests)
			ttft, whole := math.Inf(1), math.Inf(1)
			for i := range log {
				at := log[i].At
				ttft = min(ttft, ms(time.Duration(at[0]-log[i].From)))
				whole = min(whole, ms(time.Duration(at[len(at)-1]-log[i].From)))
			}
			for _, m := range []struct {
				tag         string
				least, want float64
			}{{"time_to_first_token", ms(first), ttft}, {"request_latency", ms(first + (truthTokens-1)*next), whole}} {
				got := metric(t, &res.Levels[0], m.tag).Min
				t.Logf("shortest %s: %.3f ms, by the server's log %.3f", m.tag, got, m.want)
				if got < m.least || got-m.want > meanTolerance {
					t.Errorf("the shortest %s is %.3f ms, by the server's log %.3f; at most %v more is allowed and never less than %v",
						m.tag, got, m.want, meanTolerance, m.least)
				}
			}
		})
	}
}

// What strange servers do to a stream gives the right numbers, or the right failure.
func TestStrangeStreams(t *testing.T) {
	r := serve(t, "--ttft", "5ms", "--itl", "1ms")
	run := func(t *testing.T, kind string) (string, map[string]float64, string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "r.json")
		e := r.redline(t, "llm", "-m", "m", "-u", r.Ports["openai"], "--streaming", "--concurrency", "2", "--request-count", "4", "--osl", "12", "--isl", "10",
			"-H", "X-Redline-Stream: "+kind, "--json", file)
		lv := binary.Result(t, file).Levels[0]
		got := map[string]float64{}
		for _, m := range lv.Metrics {
			got[m.Tag] = m.Avg
			if m.Distributed() {
				got[m.Tag+".count"] = float64(m.Count)
			}
		}
		class := ""
		if len(lv.Failures) > 0 {
			class = lv.Failures[0].Class
			if e.code != 99 {
				t.Errorf("exit code %d", e.code)
			}
		}
		return e.err, got, class
	}
	for _, kind := range []string{"split", "merge=3", "crlf", "cr", "comments", "fields", "lines", "bare", "bom", "big", "gzip", "nodone", "ping=1ms", "role", "usage", "split,crlf,comments", "reasoning=4", "cached=5"} {
		t.Run(kind, func(t *testing.T) {
			log, got, class := run(t, kind)
			if class != "" || got["request_count"] != 4 || got["output_sequence_length"] != 12 || got["inter_chunk_latency.count"] != 4*11 {
				t.Errorf("%s %v\n%s", class, got, log)
			}
			if kind == "reasoning=4" && (got["reasoning_token_count"] != 4 || got["time_to_first_output_token"] < got["time_to_first_token"]) {
				t.Errorf("%v", got)
			}
			if kind == "cached=5" && got["usage_prompt_cache_read_tokens"] != 5 {
				t.Errorf("%v", got)
			}
			if kind == "usage" && got["per_token_latency.count"] != 4*11 {
				t.Errorf("%v", got)
			}
		})
	}
	t.Run("chunk=4", func(t *testing.T) {
		if _, got, _ := run(t, "chunk=4"); got["output_sequence_length"] != 12 || got["inter_chunk_latency.count"] != 4*2 {
			t.Errorf("%v", got)
		}
	})
	for kind, want := range map[string]string{
		"cut=3": "transport", "empty": "protocol", "error=3": "server", "error=0": "server 500", "stop=3": "protocol",
		"status=401": "server 401", "status=404": "server 404", "status=429": "server 429", "status=500": "server 500",
	} {
		t.Run(kind, func(t *testing.T) {
			log, got, class := run(t, kind)
			if class != want || got["request_count"] != 0 || got["error_request_count"] != 4 || got["request_error_rate"] != 100 {
				t.Errorf("class %q, want %q: %v\n%s", class, want, got, log)
			}
		})
	}
}
