package aiperf_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/llm/artifact/servermetrics"
	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/watch"
)

const bailian = `{"chat_id": 159, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 20, "output_length": 132, "type": "text", "turn": 1, "hash_ids": [1089, 1090]}
{"chat_id": 161, "parent_chat_id": 160, "timestamp": 63.5, "input_length": 40, "output_length": 7, "type": "text", "turn": 3, "hash_ids": [1089, 1090, 5]}
{"chat_id": 160, "parent_chat_id": 159, "timestamp": 62.5, "input_length": 35, "output_length": 80, "type": "search", "turn": 2, "hash_ids": [1089, 1090, 4]}
{"chat_id": 170, "parent_chat_id": 9, "timestamp": 64, "input_length": 8, "output_length": 3, "type": "text", "turn": 2}
`

const burst = `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45.5,ChatGPT,1087,230,1317,Conversation log
118,GPT-4,417,0,417,API log
`

// captured are two hours of captured requests, the second of which has one that came in the first.
var captured = map[string]string{
	"AllTraffic/10/a.jsonl": `{"captureData":{"endpointInput":{"data":"{\"messages\":[{\"role\":\"user\",\"content\":\"late\"}],\"max_tokens\":7}","encoding":"JSON"},"endpointOutput":{"data":"{}","encoding":"JSON"}},"eventMetadata":{"eventId":"1","inferenceTime":"2026-01-31T10:00:01.5Z"}}
{"captureData":{"endpointInput":{"data":"eyJtZXNzYWdlcyI6W3sicm9sZSI6InVzZXIiLCJjb250ZW50IjoiZmlyc3QifV0sInRvb2xzIjpbe31dfQ=="}},"eventMetadata":{"inferenceTime":"2026-01-31T10:00:00Z"}}
`,
	"AllTraffic/11/b.jsonl": `{"captureData":{"endpointInput":{"data":"{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"between\"}],\"max_completion_tokens\":3}","encoding":"JSON"}},"eventMetadata":{"inferenceTime":"2026-01-31T11:00:00.75+01:00"}}
`,
}

// Traces that carry lengths mean the same to AIPerf, and its own model reads our server metrics.
func TestAIPerfReadsTheSameTraces(t *testing.T) {
	p := install(t, peers.AIPerf)
	dir := t.TempDir()
	one, two := filepath.Join(dir, "bailian.jsonl"), filepath.Join(dir, "burst.csv")
	for path, text := range map[string]string{one: bailian, two: burst} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	folder := filepath.Join(dir, "captured")
	for name, text := range captured {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var theirs struct {
		Bailian, Burst [][][3]float64
		Captured       [][4]any
		Schema         string
		Served         float64
		Types          map[string]string
	}
	decode(t, p.run(t, "python", "traces.py", one, two, serverMetrics(t, dir), folder), &theirs)
	if d := cmp.Diff(theirs.Captured, chats(t, folder)); d != "" {
		t.Errorf("SageMaker (-AIPerf +Redline):\n%s", d)
	}
	if d := cmp.Diff(theirs.Bailian, lengths(t, one)); d != "" {
		t.Errorf("Bailian (-AIPerf +Redline):\n%s", d)
	}
	if d := cmp.Diff(theirs.Burst, lengths(t, two)); d != "" {
		t.Errorf("BurstGPT (-AIPerf +Redline):\n%s", d)
	}
	if theirs.Schema != "1.1" || theirs.Served != 7 || theirs.Types["served"] != "counter" || theirs.Types["load"] != "gauge" || theirs.Types["wait_seconds"] != "histogram" {
		t.Errorf("server metrics: %+v", theirs)
	}
}

// chats are the requests of a folder: time in milliseconds, messages, output length, and whether there are tools.
func chats(t *testing.T, folder string) (out [][4]any) {
	t.Helper()
	s, err := dataset.Open(t.Context(), dataset.Options{Path: folder, Once: true}, fields{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for c, ok := s.Next(); ok; c, ok = s.Next() {
		u := &c.Turns[0]
		var texts []any
		for _, text := range u.Texts {
			texts = append(texts, text)
		}
		out = append(out, [4]any{float64(u.At) / float64(time.Millisecond), texts, float64(u.MaxTokens), u.Tools != nil})
	}
	return out
}

// lengths are the sessions of a trace, whose form is found out: time in milliseconds, input and output length.
func lengths(t *testing.T, path string) [][][3]float64 {
	t.Helper()
	s, err := dataset.Open(t.Context(), dataset.Options{Path: path, Once: true}, fields{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out [][][3]float64
	for c, ok := s.Next(); ok; c, ok = s.Next() {
		var turns [][3]float64
		for i := range c.Turns {
			u := &c.Turns[i]
			turns = append(turns, [3]float64{float64(u.At) / float64(time.Millisecond), float64(u.InputTokens), float64(u.MaxTokens)})
		}
		out = append(out, turns)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(out, func(a, b [][3]float64) int { return int(a[0][0] - b[0][0]) })
	return out
}

// serverMetrics writes the metrics of a server that answers seven requests.
func serverMetrics(t *testing.T, dir string) string {
	t.Helper()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# HELP served_total Answers.\n# TYPE served_total counter\nserved_total %d\n# TYPE load gauge\nload 0.5\n", n.Load())
		fmt.Fprintf(w, "# TYPE wait_seconds histogram\nwait_seconds_bucket{le=\"1\"} %d\nwait_seconds_bucket{le=\"+Inf\"} %d\nwait_seconds_sum 1\nwait_seconds_count %d\n", n.Load(), n.Load(), n.Load())
	}))
	t.Cleanup(srv.Close)
	n.Store(5)
	read, err := watch.Start(t.Context(), []string{srv.URL}, watch.Config{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Stop()
	w := servermetrics.New(servermetrics.Config{URLs: []string{srv.URL}})
	stop := read.Follow(w.Add)
	read.Read(t.Context())
	w.Begin()
	n.Add(7)
	read.Read(t.Context())
	stop()
	now := time.Now().UnixNano()
	if err := w.Write(&servermetrics.File{Dir: dir, JSON: true, CSV: true, Run: "run", Asked: map[string]any{}, Begin: now - 1e9, End: now}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "server_metrics_export.json")
}
