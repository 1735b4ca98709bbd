package foreign_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/compare/foreign"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

func decode(t *testing.T, content string) *result.Level {
	t.Helper()
	res, err := foreign.Decode("file", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return &res.Levels[0]
}

func want(t *testing.T, lv *result.Level, name string, value float64) {
	t.Helper()
	r, ok := lv.Read(name)
	if !ok || math.Abs(r.Value-value) > 1e-6*math.Abs(value) {
		t.Errorf("%s is %v (%v), want %v", name, r.Value, ok, value)
	}
}

func TestPerfAnalyzerCSV(t *testing.T) {
	lv := decode(t, "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n4,1234.5,1,2,30,4,50,6,7,2000,3000,3500,4000\n")
	want(t, lv, "throughput", 1234.5)
	want(t, lv, "p99", 4)
	want(t, lv, "server.queue", 0.03)
	want(t, lv, "server.compute", 0.06)
	if lv.Concurrency != 4 {
		t.Errorf("%+v", lv)
	}
}

// Two requests: 10 ms with a first response after 4 ms, 20 ms with one response, over 30 ms.
func TestPerfAnalyzerExport(t *testing.T) {
	lv := decode(t, `{"experiments":[{"experiment":{"mode":"request_rate","value":5.0},"requests":[
		{"timestamp":1700000000000000000,"response_timestamps":[1700000000004000000,1700000000010000000]},
		{"timestamp":1700000000010000000,"response_timestamps":[1700000000030000000]}],"window_boundaries":[]}],"version":"2.60.0"}`)
	want(t, lv, "avg", 15)
	want(t, lv, "max", 20)
	want(t, lv, "first.min", 4)
	want(t, lv, "requests", 2)
	if lv.Rate != 5 || math.Abs(lv.Client.InferPerSec-2/0.030) > 0.01 {
		t.Errorf("%+v", lv.Client)
	}
}

const aiperf = `{"schema_version":"1.4","input_config":{"loadgen":{"concurrency":16}},
	"request_throughput":{"unit":"requests/sec","avg":10.5},
	"request_latency":{"unit":"ms","avg":100,"p1":1,"p50":95,"p90":130,"p99":180,"min":1,"max":200,"std":20,"count":400,"sum":40000},
	"time_to_first_token":{"unit":"ms","avg":30,"p50":28,"p99":60,"min":10,"max":80,"std":5,"count":400,"sum":12000},
	"error_summary":[]}`

func TestAIPerfJSON(t *testing.T) {
	lv := decode(t, aiperf)
	want(t, lv, "ttft.p99", 60)
	want(t, lv, "p99", 180)
	want(t, lv, "throughput", 10.5)
	m := lv.Metric("ttft")
	// 1.96 · 5/√400 = 0.49
	if lv.Concurrency != 16 || m.Interval == nil || math.Abs(m.Interval.High-30.49) > 1e-9 {
		t.Errorf("%d %+v", lv.Concurrency, m)
	}
}

func TestMetricCSV(t *testing.T) {
	lv := decode(t, "Metric,avg,min,max,sum,p1,p5,p10,p25,p50,p75,p90,p95,p99,std\nTime to First Token (ms),30.00,10.00,80.00,12000.00,11,12,13,20,28,33,40,50,60.00,5.00\n\nMetric,Value\nRequest Throughput (requests/sec),10.50\n")
	want(t, lv, "ttft.p99", 60)
	want(t, lv, "ttft.avg", 30)
	want(t, lv, "throughput", 10.5)
}

func TestAIPerfRecords(t *testing.T) {
	line := `{"metadata":{"benchmark_phase":"profiling","request_start_ns":%START%,"request_end_ns":%END%},"metrics":{"request_latency":{"value":%V%,"unit":"ms"}},"error":null}` + "\n"
	text := ""
	for _, v := range [][3]string{{"1000000000", "1100000000", "100"}, {"1500000000", "2000000000", "500"}} {
		text += strings.NewReplacer("%START%", v[0], "%END%", v[1], "%V%", v[2]).Replace(line)
	}
	text += `{"metadata":{"benchmark_phase":"profiling","request_start_ns":1,"request_end_ns":2},"metrics":{},"error":{"code":500}}`
	lv := decode(t, text)
	want(t, lv, "avg", 300)
	want(t, lv, "throughput", 2)
	want(t, lv, "failed", 1)
}

func TestFolderOfAnotherTool(t *testing.T) {
	dir := t.TempDir()
	if _, err := foreign.Load(dir); !errors.Is(err, foreign.ErrUnknown) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "profile_export_aiperf.json"), []byte(aiperf), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := foreign.Load(dir)
	if err != nil || len(res.Levels) != 1 {
		t.Errorf("%v %v", res, err)
	}
}

func TestBrokenFilesSayWhatIsWrong(t *testing.T) {
	for content, text := range map[string]string{
		"": "empty", "hello": "no result", `{"a":1}`: "no result", `{"experiments":[`: "damaged", `{"experiments":[]}`: "no measured level",
		"Concurrency,Inferences/Second\n": "no measured level", "Concurrency,Inferences/Second\nx,y\n": "line 2", "\x00\x01": "no result",
	} {
		if _, err := foreign.Decode("file", []byte(content)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(aiperf))
	f.Add([]byte("Concurrency,Inferences/Second,p50 latency\n1,2,3\n"))
	f.Add([]byte("Metric,avg,p50\na (ms),1,2\n"))
	f.Add([]byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2]}]}]}`))
	f.Fuzz(func(_ *testing.T, content []byte) { _, _ = foreign.Decode("file", content) })
}

// AIPerf keeps what was requested in a list of phases, GenAI-Perf in a stimulus.
func TestLevelOfTheConfiguration(t *testing.T) {
	f := func(config, want string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "profile_export_aiperf.json")
		text := `{"request_latency": {"unit": "ms", "avg": 5, "p50": 4, "p99": 9}, "request_throughput": {"unit": "requests/sec", "avg": 7}, "input_config": ` + config + `}`
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		res, err := foreign.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := measure.LevelName(&res.Levels[0]); got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
	f(`{"phases": [{"name": "profiling", "type": "concurrency", "requests": 192, "concurrency": 64}]}`, "concurrency 64")
	f(`{"phases": [{"name": "profiling", "type": "gamma", "rate": 50.0, "requests": 20}]}`, "request rate 50")
	f(`{"perf_analyzer": {"stimulus": {"concurrency": 8}}}`, "concurrency 8")
	f(`{"perf_analyzer": {"stimulus": {"request_rate": 5}}}`, "request rate 5")
}
