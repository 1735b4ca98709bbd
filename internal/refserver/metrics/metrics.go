// Package metrics writes the server's counters as Prometheus text, under the names of Triton's metrics.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/stats"
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

// family is one metric of all models.
type family struct {
	name, kind, help string
	value            func(*stats.Snapshot) uint64
}

func micros(d stats.Duration) uint64 { return uint64(d.Total.Microseconds()) }

var families = []family{
	{"nv_inference_request_success", "counter", "Number of successful inference requests, all batch sizes", func(s *stats.Snapshot) uint64 { return s.Success.Count }},
	{"nv_inference_count", "counter", "Number of inferences performed", func(s *stats.Snapshot) uint64 { return s.Inferences }},
	{"nv_inference_exec_count", "counter", "Number of model executions performed", func(s *stats.Snapshot) uint64 { return s.Executions }},
	{"nv_inference_request_duration_us", "counter", "Cumulative inference request duration in microseconds", func(s *stats.Snapshot) uint64 { return micros(s.Success) }},
	{"nv_inference_queue_duration_us", "counter", "Cumulative inference queuing duration in microseconds", func(s *stats.Snapshot) uint64 { return micros(s.Queue) }},
	{"nv_inference_compute_input_duration_us", "counter", "Cumulative compute input duration in microseconds", func(s *stats.Snapshot) uint64 { return micros(s.ComputeInput) }},
	{"nv_inference_compute_infer_duration_us", "counter", "Cumulative compute inference duration in microseconds", func(s *stats.Snapshot) uint64 { return micros(s.ComputeInfer) }},
	{"nv_inference_compute_output_duration_us", "counter", "Cumulative inference compute output duration in microseconds", func(s *stats.Snapshot) uint64 { return micros(s.ComputeOutput) }},
	{"nv_inference_pending_request_count", "gauge", "Instantaneous number of pending requests awaiting execution per-model.", func(s *stats.Snapshot) uint64 { return uint64(max(s.Pending, 0)) }},
}

// text writes all metrics of one moment.
func text(models *model.Repository, gpus int) []byte {
	var lines []line
	for _, m := range models.Models() {
		lines = append(lines, line{labels: `{model="` + m.Name() + `",version="` + m.VersionText() + `"}`, model: m.Name(), version: m.VersionText(), now: m.Counters.Snapshot()})
	}
	var b []byte
	for i, f := range families {
		b = head(b, f.name, f.kind, f.help)
		for k := range lines {
			b = append(append(append(b, f.name...), lines[k].labels...), ' ')
			b = append(strconv.AppendUint(b, f.value(&lines[k].now), 10), '\n')
		}
		if i == 0 {
			b = failures(b, lines)
		}
	}
	if gpus > 0 {
		b = simulated(b, gpus, time.Now())
	}
	return machine(b)
}

// line is one model in each family.
type line struct {
	labels, model, version string
	now                    stats.Snapshot
}

func failures(b []byte, lines []line) []byte {
	const name = "nv_inference_request_failure"
	b = head(b, name, "counter", "Number of failed inference requests, all batch sizes")
	for k := range lines {
		l := &lines[k]
		for _, why := range []stats.Reason{stats.Rejected, stats.Canceled, stats.Backend, stats.Other} {
			b = append(b, name+`{model="`+l.model+`",reason="`+string(why)+`",version="`+l.version+`"} `...)
			b = append(strconv.AppendUint(b, l.now.Failures[why], 10), '\n')
		}
	}
	return b
}

func head(b []byte, name, kind, help string) []byte {
	return append(b, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}
