// Package metrics writes the server's counters as Prometheus text, under the names of Triton's metrics.
package metrics

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"time"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/model"
)

// Handler answers GET /metrics, with the given number of simulated GPUs.
func Handler(models *model.Repository, gpus int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.Error(w, "not found: metrics are at /metrics", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(text(models, gpus)) // a scraper that has gone needs no response
	})
}

func micros(d *pb.StatisticDuration) uint64 { return d.GetNs() / 1000 }

// counters are the metrics of all models.
var counters = []struct {
	name, help string
	value      func(*pb.ModelStatistics) uint64
}{
	{"nv_inference_request_success", "Number of successful inference requests, all batch sizes", func(s *pb.ModelStatistics) uint64 { return s.GetInferenceStats().GetSuccess().GetCount() }},
	{"nv_inference_count", "Number of inferences performed", (*pb.ModelStatistics).GetInferenceCount},
	{"nv_inference_exec_count", "Number of model executions performed", (*pb.ModelStatistics).GetExecutionCount},
	{"nv_inference_request_duration_us", "Cumulative inference request duration in microseconds", func(s *pb.ModelStatistics) uint64 { return micros(s.GetInferenceStats().GetSuccess()) }},
	{"nv_inference_queue_duration_us", "Cumulative inference queuing duration in microseconds", func(s *pb.ModelStatistics) uint64 { return micros(s.GetInferenceStats().GetQueue()) }},
	{"nv_inference_compute_input_duration_us", "Cumulative compute input duration in microseconds", func(s *pb.ModelStatistics) uint64 { return micros(s.GetInferenceStats().GetComputeInput()) }},
	{"nv_inference_compute_infer_duration_us", "Cumulative compute inference duration in microseconds", func(s *pb.ModelStatistics) uint64 { return micros(s.GetInferenceStats().GetComputeInfer()) }},
	{"nv_inference_compute_output_duration_us", "Cumulative inference compute output duration in microseconds", func(s *pb.ModelStatistics) uint64 { return micros(s.GetInferenceStats().GetComputeOutput()) }},
}

// text writes all metrics of one moment.
func text(models *model.Repository, gpus int) []byte {
	var b bytes.Buffer
	head := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	var now []*pb.ModelStatistics
	var failures, pending bytes.Buffer
	for _, m := range models.Models() {
		s, failed, waiting := m.Counters.Snapshot()
		now = append(now, s)
		for _, why := range []model.Reason{model.Rejected, model.Canceled, model.Backend, model.Other} {
			fmt.Fprintf(&failures, "nv_inference_request_failure{model=%q,reason=%q,version=%q} %d\n", s.GetName(), why, s.GetVersion(), failed[why])
		}
		fmt.Fprintf(&pending, "nv_inference_pending_request_count{model=%q,version=%q} %d\n", s.GetName(), s.GetVersion(), waiting)
	}
	for _, c := range counters {
		head(c.name, "counter", c.help)
		for _, s := range now {
			fmt.Fprintf(&b, "%s{model=%q,version=%q} %d\n", c.name, s.GetName(), s.GetVersion(), c.value(s))
		}
	}
	head("nv_inference_request_failure", "counter", "Number of failed inference requests, all batch sizes")
	b.Write(failures.Bytes())
	head("nv_inference_pending_request_count", "gauge", "Instantaneous number of pending requests awaiting execution per-model.")
	b.Write(pending.Bytes())
	// Simulated GPUs have a utilization, a power and memory that change slowly.
	phase := 2 * math.Pi * float64(time.Now().UnixMilli()%60_000) / 60_000
	swing := func(gpu int) float64 { return 0.5 + 0.4*math.Sin(phase+float64(gpu)) }
	for _, g := range []struct {
		name, help string
		value      func(gpu int) float64
	}{
		{"nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0)", swing},
		{"nv_gpu_memory_total_bytes", "GPU total memory, in bytes", func(int) float64 { return 80 << 30 }},
		{"nv_gpu_memory_used_bytes", "GPU used memory, in bytes", func(g int) float64 { return math.Floor(swing(g) * (40 << 30)) }},
		{"nv_gpu_power_usage", "GPU power usage in watts", func(g int) float64 { return 100 + math.Round(500*swing(g)) }},
		{"nv_gpu_power_limit", "GPU power management limit in watts", func(int) float64 { return 700 }},
	} {
		if gpus > 0 {
			head(g.name, "gauge", g.help)
		}
		for i := range gpus {
			fmt.Fprintf(&b, "%s{gpu_uuid=\"GPU-00000000-0000-0000-0000-%012d\"} %.16g\n", g.name, i, g.value(i))
		}
	}
	return b.Bytes()
}
