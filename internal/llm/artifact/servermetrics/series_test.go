package servermetrics

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/scrape"
)

func page(t *testing.T, text string) *scrape.Page {
	t.Helper()
	p, err := scrape.Parse(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A sample belongs to the family that the page declares; summaries and times of creation are left out.
func TestRoles(t *testing.T) {
	p := page(t, "# TYPE a_total counter\na_total 1\n# TYPE h histogram\nh_count 1\n# TYPE s summary\ns_sum 1\ns{quantile=\"0.5\"} 1\n# TYPE g gauge\ng 1\nu 1\na_created 5\n")
	for name, want := range map[string][3]string{
		"a_total": {"a", "", "counter"}, "h_count": {"h", "_count", "histogram"}, "s_sum": {}, "s": {}, "g": {"g", "", "gauge"}, "u": {"u", "", "unknown"}, "a_created": {},
	} {
		of, part, k := role(p, name)
		if of != want[0] || part != want[1] || string(k) != want[2] {
			t.Errorf("%s is %q, %q, %q", name, of, part, k)
		}
	}
}

func TestQuantiles(t *testing.T) {
	list := (&series{now: state{buckets: map[string]float64{"1": 10, "2": 30, "+Inf": 40}}, ref: state{buckets: map[string]float64{"1": 0}}}).buckets()
	for q, want := range map[float64]float64{0.125: 0.5, 0.25: 1, 0.5: 1.5, 0.75: 2, 0.99: 2} {
		if got, ok := quantile(list, q); !ok || got != want {
			t.Errorf("%g: %g, want %g", q, got, want)
		}
	}
	if _, ok := quantile(nil, 0.5); ok {
		t.Error("a percentile of nothing")
	}
}

// A long run keeps no more of a gauge than a short one, and still all of its course.
func TestGaugesAreBounded(t *testing.T) {
	x := &series{stride: 1}
	for i := range 100_000 {
		x.keep(float64(i))
	}
	list := x.statistics(gauge)
	if len(x.values) > keep || list[0].value < 49_000 || list[0].value > 51_000 || list[2].value < 99_000 {
		t.Errorf("%d values, %+v", len(x.values), list[:4])
	}
}

// A page of the DCGM exporter becomes a line per GPU, in AIPerf's units; a series of no GPU or no number is left out.
func TestGPULines(t *testing.T) {
	p := page(t, `# TYPE DCGM_FI_DEV_FB_USED gauge
DCGM_FI_DEV_FB_USED{gpu="1",UUID="b",modelName="X",Hostname="h"} 1000
DCGM_FI_DEV_FB_USED{gpu="0",UUID="a",modelName="X"} 2000
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="a",modelName="X"} 0.5
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="a"} NaN
DCGM_FI_DEV_GPU_TEMP{gpu="x"} 1
DCGM_FI_DEV_SM_CLOCK{gpu="0"} 5
other 1
`)
	p.At = time.Unix(0, 7)
	want := `{"gpu_index":0,"gpu_uuid":"a","gpu_model_name":"X","platform":"nvidia","timestamp_ns":7,"telemetry_source_url":"u","telemetry_data":{"nvidia_memory_used":2.0971520000000003,"nvidia_sm_utilization":50}}
{"gpu_index":1,"gpu_uuid":"b","gpu_model_name":"X","hostname":"h","platform":"nvidia","timestamp_ns":7,"telemetry_source_url":"u","telemetry_data":{"nvidia_memory_used":1.0485760000000002}}
`
	if got := string(gpuLines("u", p)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
