package rest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/release"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// routes answers GETs by path, as a real Triton 2.51 does.
var routes = map[string]string{
	"/v2":                      `{"name":"triton","version":"2.51.0","extensions":["classification","statistics","trace"]}`,
	"/v2/models/simple":        `{"name":"simple","versions":["1"],"platform":"python","inputs":[{"name":"INPUT0","datatype":"INT32","shape":["-1","16"]},{"name":"INPUT1","datatype":"INT32","shape":[-1,16]}],"outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[-1,16]}]}`,
	"/v2/models/simple/config": `{"name":"simple","platform":"","backend":"python","max_batch_size":8,"input":[{"name":"INPUT0","optional":true,"is_shape_tensor":false},{"name":"INPUT1"}],"output":[{"name":"OUTPUT0"}],"dynamic_batching":{"max_queue_delay_microseconds":3000},"response_cache":{"enable":true},"model_transaction_policy":{"decoupled":true}}`,
	"/v2/models/simple/stats":  `{"model_stats":[` + counters("simple", "1", "3") + `]}`,

	"/v2/models/chain":                   `{"name":"chain","versions":["1"],"platform":"ensemble","inputs":[],"outputs":[]}`,
	"/v2/models/chain/config":            `{"name":"chain","platform":"ensemble","max_batch_size":0,"input":[],"output":[],"ensemble_scheduling":{"step":[{"model_name":"a","model_version":-1},{"model_name":"b","model_version":"2"}]}}`,
	"/v2/models/a/config":                `{"name":"a","max_batch_size":8}`,
	"/v2/models/b/versions/2/config":     `{"name":"b","max_batch_size":8,"sequence_batching":{}}`,
	"/v2/models/stats":                   `{"model_stats":[` + counters("chain", "1", "1") + `,` + counters("a", "1", "2") + `,` + counters("stranger", "1", "9") + `,` + counters("b", "2", `"4"`) + `]}`,
	"/v2/trace/setting":                  `{"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1","log_frequency":"0"}`,
	"/v2/models/no_name":                 `{"inputs":[],"outputs":[]}`,
	"/v2/models/bad_shape":               `{"name":"x","inputs":[{"name":"I","datatype":"INT32","shape":["x"]}],"outputs":[]}`,
	"/v2/models/no_outputs":              `{"name":"x","inputs":[]}`,
	"/v2/models/not_json":                `nope`,
	"/v2/models/bad_batch":               `{"name":"x","inputs":[],"outputs":[]}`,
	"/v2/models/bad_batch/config":        `{"name":"x","max_batch_size":-4}`,
	"/v2/models/short/stats":             `{"model_stats":[{"name":"short","version":"1","inference_count":1,"execution_count":1,"inference_stats":{"success":{"count":1}}}]}`,
	"/v2/models/no_stats/stats":          `{"model_stats":[]}`,
	"/v2/models/simple/versions/9":       "",
	"/v2/models/odd%2Fname%20/versions/": "",
}

func counters(name, version, n string) string {
	t := `{"count":` + n + `,"ns":` + n + `}`
	return `{"name":"` + name + `","version":"` + version + `","inference_count":` + n + `,"execution_count":` + n +
		`,"inference_stats":{"success":` + t + `,"fail":` + t + `,"queue":` + t + `,"compute_input":` + t + `,"compute_infer":` + t +
		`,"compute_output":` + t + `,"cache_hit":` + t + `,"cache_miss":` + t + `}}`
}

// triton serves the routes and keeps what it was asked.
func triton(t *testing.T) (addr string, asked func() []*seen) {
	var mu sync.Mutex
	var all []*seen
	srv := serve(t, func(r *seen) []byte {
		mu.Lock()
		all = append(all, r)
		mu.Unlock()
		path := strings.Fields(r.line)[1]
		if strings.HasPrefix(r.line, "POST") {
			return plainReply(200, routes[path])
		}
		if body := routes[path]; body != "" {
			return plainReply(200, body)
		}
		return plainReply(404, `{"error":"Request for unknown model: '`+path+`' is not found"}`)
	})
	return srv.addr, func() []*seen { mu.Lock(); defer mu.Unlock(); return all }
}

func TestDescribe(t *testing.T) {
	addr, asked := triton(t)
	tg := target(addr)
	tg.Headers = []plan.Header{{Name: "X-Key", Value: "v"}}
	m, err := newService(t, tg, plan.Input{}).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &service.Model{
		Name: "simple", Platform: "python", MaxBatch: 8,
		Inputs: []service.TensorSpec{
			{Name: "INPUT0", Type: tensor.Int32, Shape: tensor.Shape{16}, Optional: true},
			{Name: "INPUT1", Type: tensor.Int32, Shape: tensor.Shape{16}},
		},
		Outputs:   []service.TensorSpec{{Name: "OUTPUT0", Type: tensor.Int32, Shape: tensor.Shape{16}}},
		Scheduler: service.DynamicBatcher, MaxQueueDelay: 3 * time.Millisecond, Decoupled: true, Cache: true, OwnCache: true, Statistics: true,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	head := "GET /v2/models/simple HTTP/1.1\r\nHost: ADDR\r\nUser-Agent: " + release.Agent() + "\r\nAccept: */*\r\nX-Key: v\r\n\r\n"
	if got := asked()[0].head; got != strings.Replace(head, "ADDR", addr, 1) {
		t.Errorf("asked with %q", got)
	}
	var lines []string
	for _, r := range asked() {
		lines = append(lines, strings.TrimSuffix(r.line, " HTTP/1.1"))
	}
	if diff := cmp.Diff([]string{"GET /v2/models/simple", "GET /v2/models/simple/config", "GET /v2"}, lines); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEnsemble(t *testing.T) {
	addr, _ := triton(t)
	tg := target(addr)
	tg.Model = "chain"
	s := newService(t, tg, plan.Input{})
	m, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]service.Composing{{Name: "a"}, {Name: "b", Version: "2"}}, m.Composing); diff != "" || m.Scheduler != service.EnsembleWithSequence {
		t.Errorf("scheduler %d, -want +got:\n%s", m.Scheduler, diff)
	}
	all, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, st := range all {
		got = append(got, st.Name)
	}
	if diff := cmp.Diff([]string{"chain", "a", "b"}, got); diff != "" || all[2].Queue.Ns != 4 {
		t.Errorf("queue %+v, -want +got:\n%s", all[2].Queue, diff)
	}
}

func TestStats(t *testing.T) {
	addr, _ := triton(t)
	got, err := newService(t, target(addr), plan.Input{}).Stats(t.Context())
	y := service.Tally{Count: 3, Ns: 3}
	want := []service.ModelStats{{
		Name: "simple", Version: "1", InferenceCount: 3, ExecutionCount: 3, Success: y, Queue: y,
		ComputeInput: y, ComputeInfer: y, ComputeOutput: y, CacheHit: y, CacheMiss: y,
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestControlFailures(t *testing.T) {
	addr, _ := triton(t)
	gone := serve(t, simple)
	gone.stop()
	grpc := serve(t, func(*seen) []byte { return []byte("\x00\x00\x18\x04\x00\x00\x00\x00\x00") })
	describe := func(s *Service) error { _, err := s.Describe(t.Context()); return err }
	stats := func(s *Service) error { _, err := s.Stats(t.Context()); return err }
	for name, tc := range map[string]struct {
		addr, model, version string
		do                   func(*Service) error
		op                   string
		class                record.Class
		text                 string
	}{
		"unknown model":   {addr, "nope", "", describe, kserve.OpMetadata, record.Server, "Request for unknown model: '/v2/models/nope' is not found"},
		"unknown version": {addr, "simple", "9", describe, kserve.OpMetadata, record.Server, "Request for unknown model: '/v2/models/simple/versions/9' is not found"},
		"odd name":        {addr, "odd/name ", "", describe, kserve.OpMetadata, record.Server, "'/v2/models/odd%2Fname%20'"},
		"no config":       {addr, "no_outputs2", "", describe, kserve.OpMetadata, record.Server, ""},
		"server down":     {gone.addr, "simple", "", describe, kserve.OpMetadata, record.Connect, "nothing listens"},
		"grpc port":       {grpc.addr, "simple", "", describe, kserve.OpMetadata, record.Protocol, "does not answer in HTTP/1.x"},
		"no name":         {addr, "no_name", "", describe, kserve.OpMetadata, record.Protocol, "no name"},
		"bad shape":       {addr, "bad_shape", "", describe, kserve.OpMetadata, record.Protocol, "inputs"},
		"not json":        {addr, "not_json", "", describe, kserve.OpMetadata, record.Protocol, "JSON"},
		"bad batch":       {addr, "bad_batch", "", describe, kserve.OpConfig, record.Protocol, "max_batch_size"},
		"short stats":     {addr, "short", "", stats, kserve.OpStats, record.Protocol, "lack success.ns"},
		"no stats":        {addr, "no_stats", "", stats, kserve.OpStats, record.Protocol, string(service.NoStatistics)},
	} {
		t.Run(name, func(t *testing.T) {
			tg := target(tc.addr)
			tg.Model, tg.Version = tc.model, tc.version
			var e *service.Error
			if err := tc.do(newService(t, tg, plan.Input{})); !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if e.Op != tc.op || e.Class != tc.class || !strings.Contains(e.Error(), tc.text) || e.Addr != tc.addr {
				t.Errorf("got %q, %v: %v (%s)", e.Op, e.Class, e, e.Addr)
			}
		})
	}
	var he *neterr.Error
	if err := describe(newService(t, target(grpc.addr), plan.Input{})); !errors.As(err, &he) || he.Kind != neterr.NotHTTP {
		t.Errorf("the cause is lost: %v", err)
	}
}

// TestTrace: settings are posted once, without the user's headers, and put back.
func TestTrace(t *testing.T) {
	addr, asked := triton(t)
	tg := target(addr)
	tg.Headers = []plan.Header{{Name: "X-Key", Value: "v"}}
	tg.Trace = plan.Trace{Level: "TIMESTAMPS", Rate: "5", Count: "7", LogFrequency: "3"}
	s := newService(t, tg, plan.Input{})
	for range 2 {
		if _, err := s.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var posts []string
	for _, r := range asked() {
		if strings.HasPrefix(r.line, "POST") {
			posts = append(posts, string(r.body))
			if strings.Contains(r.head, "X-Key") || !strings.Contains(r.head, "Content-Type: application/x-www-form-urlencoded\r\n") {
				t.Errorf("posted with %q", r.head)
			}
		}
	}
	want := []string{
		`{"log_frequency":"3","trace_count":"7","trace_level":["TIMESTAMPS"],"trace_rate":"5"}`,
		`{"log_frequency":"0","trace_count":"-1","trace_level":["OFF"],"trace_rate":"1000"}`,
	}
	if diff := cmp.Diff(want, posts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestControlTimeout(t *testing.T) {
	srv, _ := block(t)
	tg := target(srv.addr)
	tg.Timeout = 1
	var e *service.Error
	if _, err := newService(t, tg, plan.Input{}).Describe(t.Context()); !errors.As(err, &e) || e.Class != record.Timeout {
		t.Errorf("got %v", err)
	}
}
