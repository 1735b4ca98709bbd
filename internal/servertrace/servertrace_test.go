package servertrace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/servertrace"
)

// file is a trace file of n requests with ids from 1 on. Request i arrives at base + i·1 ms, waits 400 µs and computes 300 µs.
func file(base int64, n int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := 1; i <= n; i++ {
		at := base + int64(i)*1e6
		stamp := func(name string, after int64) {
			fmt.Fprintf(&b, `{"id":%d,"timestamps":[{"name":%q,"ns":%d}]},`, i, name, at+after)
		}
		stamp("HTTP_RECV_START", 0)
		stamp("HTTP_RECV_END", 10e3)
		fmt.Fprintf(&b, `{"id":%d,"model_name":"simple","model_version":1,"request_id":"%d"},`, i, i)
		stamp("REQUEST_START", 20e3)
		stamp("QUEUE_START", 20e3)
		stamp("COMPUTE_START", 420e3)
		stamp("COMPUTE_INPUT_END", 430e3)
		stamp("COMPUTE_OUTPUT_START", 720e3)
		stamp("INFER_RESPONSE_COMPLETE", 725e3)
		stamp("COMPUTE_END", 730e3)
		stamp("REQUEST_END", 900e3)
	}
	return strings.TrimSuffix(b.String(), ",") + "]"
}

// sent keeps the same requests as the client saw them: sent 50 µs before they arrive, ended 100 µs after the server's last time.
func sent(base int64, n int) *servertrace.Slowest {
	s := &servertrace.Slowest{}
	for i := 1; i <= n; i++ {
		at := int64(i) * 1e6
		s.Add(&record.Record{ID: uint64(i), Due: at - 60e3, Sent: at - 50e3, First: at + 800e3, End: at + 820e3 + int64(i)}, func(t int64) int64 { return base + t })
	}
	return s
}

func join(t *testing.T, text string, s *servertrace.Slowest, mono int64) *result.ServerTraces {
	t.Helper()
	traces, err := servertrace.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return servertrace.Join(s, traces, mono)
}

// Whatever clock the server has, its spans lie within the client's: Unix time, the monotonic clock of this machine, or another clock.
func TestSpansLieWithinTheRequest(t *testing.T) {
	const unix, mono = int64(1.7e18), int64(6e13)
	for clock, base := range map[string]int64{"Unix time": unix, "the monotonic clock of this machine": mono, "a clock of another machine": 12345} {
		got := join(t, file(base, 20), sent(unix, 20), unix-mono)
		if got.Matched != 20 || len(got.Slowest) != 10 || !strings.HasPrefix(got.Clock, clock) {
			t.Fatalf("%s: %+v", clock, got)
		}
		r := got.Slowest[0]
		if r.RequestID != "20" || r.LatencyNs != 880e3+20 {
			t.Errorf("%s: the slowest is %+v", clock, r)
		}
		for _, s := range r.Spans {
			if s.StartNs < 0 || s.EndNs < s.StartNs || s.Name != "in the model" && s.EndNs > r.LatencyNs {
				t.Errorf("%s: %+v does not lie within %d ns", clock, s, r.LatencyNs)
			}
			if s.Name == "queue" && (s.EndNs-s.StartNs != 400e3 || s.Depth != 1 || !s.Server) {
				t.Errorf("%s: the queue is %+v", clock, s)
			}
		}
	}
}

// Traces of an earlier run with the same ids are left alone, and a file without ours is said.
func TestOtherRunsAreLeftOut(t *testing.T) {
	const unix = int64(1.7e18)
	if got := join(t, file(unix-5e9, 5)+file(unix, 0), sent(unix, 5), 0); got.Matched != 5 || !strings.HasPrefix(got.Clock, "a clock of another machine") {
		t.Errorf("%+v", got) // such a file cannot be told from one with another clock
	}
	both := strings.TrimSuffix(file(unix-5e9, 5), "]") + "," + strings.ReplaceAll(strings.TrimPrefix(file(unix, 5), "["), `{"id":`, `{"id":10`)
	if got := join(t, both, sent(unix, 5), 0); got.Matched != 5 || got.Clock != "Unix time" {
		t.Errorf("%+v", got)
	}
	if got := join(t, "[]", sent(unix, 5), 0); got.Matched != 0 || got.Note == "" {
		t.Errorf("%+v", got)
	}
}

// A step of an ensemble is a span inside the ensemble's.
func TestStepsOfAnEnsemble(t *testing.T) {
	text := `[{"id":1,"model_name":"chain","request_id":"1"},{"id":1,"timestamps":[{"name":"REQUEST_START","ns":1000100},{"name":"REQUEST_END","ns":1000900}]},
{"id":2,"model_name":"first","request_id":"1","parent_id":1},{"id":2,"timestamps":[{"name":"REQUEST_START","ns":1000200},{"name":"REQUEST_END","ns":1000500}]}]`
	got := join(t, text, sent(0, 1), 0)
	var names []string
	for _, s := range got.Slowest[0].Spans {
		if s.Server {
			names = append(names, fmt.Sprint(s.Model, s.Depth))
		}
	}
	if strings.Join(names, " ") != "chain0 first1" {
		t.Errorf("the server's spans are %q", names)
	}
}

// FuzzParse holds that no file makes the parser fail otherwise than with an error, and that a cut file keeps what is complete.
func FuzzParse(f *testing.F) {
	whole := file(0, 2)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(`{"id":1}`)
	f.Add(`[{"id":1,"timestamps":[{"name":"A_END","ns":-1}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		traces, err := servertrace.Parse(strings.NewReader(text))
		if err == nil {
			servertrace.Join(sent(0, 2), traces, 0)
		}
	})
	if traces, err := servertrace.Parse(strings.NewReader(whole[:len(whole)-30])); err != nil || len(traces) != 2 {
		f.Errorf("%d traces, %v", len(traces), err)
	}
}
