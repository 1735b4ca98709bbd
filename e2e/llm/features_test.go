package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/testkit"
)

// heard is a request as a server got it.
type heard struct {
	header http.Header
	body   map[string]any
	text   string
}

// listener is a chat server that writes down what it hears.
type listener struct {
	*httptest.Server
	mu    sync.Mutex
	got   []heard
	busy  int // requests that it refuses with 503 at first
	pages int
}

func listen(t *testing.T, busy int) *listener {
	t.Helper()
	l := &listener{busy: busy}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.busy--; l.busy >= 0 {
			fmt.Fprint(w, `{"data":[]}`)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pages++
		fmt.Fprintf(w, "# HELP served_total Requests that were answered.\n# TYPE served_total counter\nserved_total{model=\"m\"} %d\n", len(l.got))
		fmt.Fprintf(w, "# TYPE queue gauge\nqueue 3\n# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"0.5\"} %d\nwait_seconds_bucket{le=\"+Inf\"} %d\nwait_seconds_sum %d\nwait_seconds_count %d\n",
			len(l.got), len(l.got), len(l.got)/4, len(l.got))
	})
	mux.HandleFunc("POST /", l.chat)
	l.Server = httptest.NewUnstartedServer(mux)
	l.Config.Protocols = new(http.Protocols)
	l.Config.Protocols.SetHTTP1(true)
	l.Config.Protocols.SetUnencryptedHTTP2(true)
	l.Start()
	t.Cleanup(l.Close)
	return l
}

func (l *listener) chat(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy--; l.busy >= 0 {
		http.Error(w, `{"error":"loading"}`, http.StatusServiceUnavailable)
		return
	}
	h := heard{header: r.Header, text: string(text)}
	_ = json.Unmarshal(text, &h.body)
	l.got = append(l.got, h)
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/v1/completions") {
		fmt.Fprint(w, `{"object":"text_completion","choices":[{"text":"an answer","finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`)
		return
	}
	fmt.Fprint(w, `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"an answer"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`)
}

// run loads the listener and returns what it heard.
func (l *listener) run(t *testing.T, r *rig, args ...string) []heard {
	t.Helper()
	e := r.redline(t, append([]string{"llm", "-u", l.URL, "--no-history"}, args...)...)
	if e.code != 0 {
		t.Fatalf("exit code %d\n%s%s", e.code, e.out, e.err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got
}

func folder(t *testing.T) *rig { return &rig{dir: t.TempDir()} }

func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every request has an id of its own, and all of a conversation share one; the records have the same ids.
func TestRequestHeaders(t *testing.T) {
	r := folder(t)
	file := r.write(t, "talks.jsonl", strings.Repeat(`{"turns":[{"text":"one"},{"text":"two"}]}`+"\n", 3))
	for _, header := range []string{"", "X-Session-Key"} {
		l := listen(t, 0)
		args := []string{"-m", "m", "--input-file", file, "--artifact-dir", r.dir + "/a" + header}
		if header != "" {
			args = append(args, "--http-version", "2")
		}
		if header != "" {
			args = append(args, "--session-header", header)
		} else {
			header = "X-Correlation-Id"
		}
		requests, talks := map[string]bool{}, map[string]int{}
		for _, h := range l.run(t, r, args...) {
			requests[h.header.Get("X-Request-Id")] = true
			talks[h.header.Get(header)]++
		}
		if len(requests) != 6 || len(talks) != 3 || requests[""] || talks[""] > 0 {
			t.Errorf("%s: %d ids of requests, of conversations %v", header, len(requests), talks)
		}
		text, err := os.ReadFile(args[5] + "/profile_export.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var rec struct {
				Metadata struct {
					Request string `json:"x_request_id"`
					Talk    string `json:"x_correlation_id"`
				} `json:"metadata"`
			}
			if json.Unmarshal([]byte(line), &rec) != nil || !requests[rec.Metadata.Request] || talks[rec.Metadata.Talk] != 2 {
				t.Errorf("the record has other ids: %s", line)
			}
		}
	}
}

// inputs.json has the conversations that the measurement asked, each once: not those that were only made ready, nor a
// warm-up's, nor repeats.
func TestInputsAreWhatWasAsked(t *testing.T) {
	f := func(requests, want int) {
		t.Helper()
		r := folder(t)
		l := listen(t, 0)
		l.run(t, r, "-m", "m", "--input-file", r.prompts(t, 10), "--request-count", fmt.Sprint(requests), "--warmup-request-count", "3", "--artifact-dir", r.dir)
		var doc struct {
			Data []struct {
				ID string `json:"session_id"`
			} `json:"data"`
		}
		readJSON(t, filepath.Join(r.dir, "inputs.json"), &doc)
		seen := map[string]bool{}
		for _, d := range doc.Data {
			seen[d.ID] = true
		}
		if len(doc.Data) != want || len(seen) != want {
			t.Errorf("%d requests: %d conversations of %d names, want %d", requests, len(doc.Data), len(seen), want)
		}
	}
	f(4, 4)
	f(25, 10)
}

func TestWaitForModel(t *testing.T) {
	r := folder(t)
	for _, mode := range []string{"inference", "models", "both"} {
		l := listen(t, 3)
		got := l.run(t, r, "-m", "m", "--request-count", "2", "--wait-for-model-timeout", "60", "--wait-for-model-interval", "0.05", "--wait-for-model-mode", mode)
		want := 2
		if mode != "models" {
			want = 3 // the probe as well
		}
		if len(got) != want {
			t.Errorf("%s: %d requests were answered, want %d", mode, len(got), want)
		}
	}
	l := listen(t, 1000)
	e := r.redline(t, "llm", "-u", l.URL, "-m", "m", "--no-history", "--wait-for-model-timeout", "0.3", "--wait-for-model-interval", "0.05")
	if e.code != 99 || !strings.Contains(e.err, "not ready") || strings.Count(e.err, "\n") != 1 {
		t.Errorf("exit code %d: %s", e.code, e.err)
	}
}

// What the server counts stands in AIPerf's files, over the measured phase alone.
func TestServerMetrics(t *testing.T) {
	r := folder(t)
	l := listen(t, 0)
	l.run(t, r, "-m", "m", "--warmup-request-count", "5", "--request-count", "12", "--artifact-dir", r.dir, "--server-metrics", l.URL, "--server-metrics-formats", "json,csv,jsonl")
	type series struct {
		Labels map[string]string  `json:"labels"`
		Stats  map[string]float64 `json:"stats"`
	}
	var doc struct {
		Metrics map[string]struct {
			Type   string   `json:"type"`
			Help   string   `json:"description"`
			Series []series `json:"series"`
		} `json:"metrics"`
	}
	readJSON(t, filepath.Join(r.dir, "server_metrics_export.json"), &doc)
	m := doc.Metrics["served"]
	if m.Type != "counter" || m.Help == "" || len(m.Series) != 1 || m.Series[0].Labels["model"] != "m" || m.Series[0].Stats["total"] != 12 {
		t.Errorf("counter: %+v", m)
	}
	if m := doc.Metrics["queue"]; m.Type != "gauge" || m.Series[0].Stats["p99"] != 3 {
		t.Errorf("gauge: %+v", m)
	}
	if m := doc.Metrics["wait_seconds"]; m.Type != "histogram" || m.Series[0].Stats["count"] != 12 || m.Series[0].Stats["p50_estimate"] != 0.25 {
		t.Errorf("histogram: %+v", m)
	}
	for _, name := range []string{"server_metrics_export.csv", "server_metrics_export.jsonl"} {
		if text, err := os.ReadFile(filepath.Join(r.dir, name)); err != nil || !strings.Contains(string(text), "served") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if e := r.redline(t, "llm", "-u", l.URL, "-m", "m", "--artifact-dir", r.dir, "--server-metrics", "127.0.0.1:1"); e.code != 99 || !strings.Contains(e.err, "--server-metrics") {
		t.Errorf("exit code %d: %s", e.code, e.err)
	}
}

// Turns of single_turn sessions stand for themselves, those of other conversations follow what was said.
func TestHistories(t *testing.T) {
	f := func(text string, want ...int) {
		t.Helper()
		r := folder(t)
		l := listen(t, 0)
		var got []int
		for _, h := range l.run(t, r, "-m", "m", "--input-file", r.write(t, "f.jsonl", text)) {
			got = append(got, len(h.body["messages"].([]any)))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
	f(`{"session_id":"s","text":"a"}`+"\n"+`{"session_id":"s","text":"b"}`, 1, 1)
	f(`{"session_id":"s","turns":[{"text":"a"},{"text":"b"},{"text":"c"}]}`, 1, 3, 5)
	f(`{"images":["https://x/a.png",""],"image_uuids":["u1","u2"],"text":"what?"}`, 1)
}

func TestImageUUIDs(t *testing.T) {
	r := folder(t)
	l := listen(t, 0)
	got := l.run(t, r, "-m", "m", "--input-file", r.write(t, "f.jsonl", `{"images":["https://x/a.png",""],"image_uuids":["u1","u2"],"text":"what?"}`))
	for _, want := range []string{`{"type":"image_url","image_url":{"url":"https://x/a.png"},"uuid":"u1"}`, `{"type":"image_url","image_url":{"url":""},"uuid":"u2"}`} {
		if !strings.Contains(got[0].text, want) {
			t.Errorf("%s lacks %s", got[0].text, want)
		}
	}
}

// An endpoint that takes one prompt refuses conversations; of ShareGPT's it takes the first turn, as others do.
func TestOnePromptEndpoints(t *testing.T) {
	r := folder(t)
	l := listen(t, 0)
	talks := r.write(t, "talks.jsonl", `{"turns":[{"text":"one"},{"text":"two"}]}`)
	e := r.redline(t, "llm", "-u", l.URL, "-m", "m", "--endpoint-type", "completions", "--input-file", talks)
	if e.code != 99 || !strings.Contains(e.err, "takes one prompt") {
		t.Errorf("exit code %d: %s", e.code, e.err)
	}
	gpt := r.write(t, "gpt.json", `[{"conversations":[{"from":"human","value":"first"},{"from":"gpt","value":"x"},{"from":"human","value":"second"}]}]`)
	got := l.run(t, r, "-m", "m", "--endpoint-type", "completions", "--input-file", gpt)
	if len(got) != 1 || got[0].body["prompt"] != "first" {
		t.Errorf("%+v", got)
	}
}

func TestSeveralModels(t *testing.T) {
	r := folder(t)
	l := listen(t, 0)
	counts := map[any]int{}
	for _, h := range l.run(t, r, "-m", "a,b", "--request-count", "8", "--export-outputs-json", "--artifact-dir", r.dir) {
		counts[h.body["model"]]++
	}
	if counts["a"] != 4 || counts["b"] != 4 {
		t.Errorf("%v", counts)
	}
	var doc struct {
		Data []struct {
			Text string `json:"response_text"`
		} `json:"data"`
	}
	if readJSON(t, filepath.Join(r.dir, "outputs.json"), &doc); len(doc.Data) != 8 || doc.Data[0].Text != "an answer" {
		t.Errorf("%+v", doc)
	}
}

// Several addresses take turns over gRPC too.
func TestSeveralAddressesOverGRPC(t *testing.T) {
	a, b := serve(t), serve(t)
	e := a.redline(t, "llm", "-u", a.Ports["grpc"]+","+b.Ports["grpc"], "--endpoint-type", "kserve", "-m", "ensemble", "--isl", "8", "--osl", "4",
		"--concurrency", "3", "--request-count", "20", "--no-history")
	if e.code != 0 {
		t.Fatalf("exit code %d\n%s%s", e.code, e.out, e.err)
	}
	for _, s := range []*rig{a, b} {
		if n := s.served(t, "ensemble"); n != "10" {
			t.Errorf("%s requests went to %s, want 10", n, s.Ports["grpc"])
		}
	}
}

// served is how many requests of a model a server counted.
func (r *rig) served(t *testing.T, model string) string {
	t.Helper()
	_, text := testkit.Ask(t, http.MethodGet, "http://"+r.Ports["metrics"]+"/metrics", nil)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `nv_inference_request_success{model="`+model+`"`) {
			return strings.Fields(line)[1]
		}
	}
	return "none"
}

// The warm-up may have a load of its own, and counts nowhere.
func TestWarmupLoad(t *testing.T) {
	r := serve(t, "--ttft", "1ms", "--itl", "0s")
	dir := filepath.Join(r.dir, "a")
	res := r.llm(t, "--streaming", "--osl", "2", "--isl", "5", "--concurrency", "2", "--request-count", "10", "--num-warmup-sessions", "7", "--warmup-request-rate", "200",
		"--warmup-arrival-pattern", "constant", "--artifact-dir", dir)
	if n := metric(t, &res.Levels[0], "request_count").Avg; n != 10 {
		t.Errorf("%g requests count", n)
	}
	text, err := os.ReadFile(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil || strings.Count(string(text), `"warmup"`) != 7 {
		t.Errorf("%d warm-up requests, %v", strings.Count(string(text), `"warmup"`), err)
	}
}

// A rate that grows from 20 to 100 a second: request n is due when the area below the rate is n. Due times do not depend on
// how late requests are sent.
func TestRateSeries(t *testing.T) {
	const requests = 60
	r := serve(t, "--ttft", "1ms", "--itl", "0s")
	file := r.write(t, "series.json", `{"points":[{"time_s":0,"qps":20},{"time_s":1,"qps":100}]}`)
	dir := filepath.Join(r.dir, "a")
	r.llm(t, "--streaming", "--osl", "2", "--isl", "5", "--request-rate-series", file, "--arrival-pattern", "constant", "--request-count", fmt.Sprint(requests),
		"--artifact-dir", dir, "--exports", "records")
	var due []int64
	text, err := os.ReadFile(filepath.Join(dir, "profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var record struct {
			Metadata struct {
				Due int64 `json:"credit_issued_ns"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		due = append(due, record.Metadata.Due)
	}
	slices.Sort(due)
	if len(due) != requests {
		t.Fatalf("%d requests, want %d", len(due), requests)
	}
	at := func(n int) float64 { return (math.Sqrt(400+160*float64(n)) - 20) / 80 } // n = 20 t + 40 t²
	for i := range due {
		got, want := float64(due[i]-due[0])/1e9, at(i+1)-at(1)
		if math.Abs(got-want) > 1e-5 {
			t.Errorf("request %d is due %.6f s after the first, want %.6f", i+1, got, want)
		}
	}
}
