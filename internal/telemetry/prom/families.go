// Package prom gives the numbers of a run to Prometheus: as a page that is scraped, or sent by remote write. Latencies are native
// histograms, which keep 32 buckets in each doubling; classic ones, in the text format and by default in remote write, have four.
package prom

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/telemetry"
)

// Label is a name and a value.
type Label struct{ Name, Value string }

// Gauge makes a family of one value.
func Gauge(name, help string, value float64, labels ...Label) *dto.MetricFamily {
	return family(name, help, dto.MetricType_GAUGE, &dto.Metric{Label: pairs(labels), Gauge: &dto.Gauge{Value: &value}})
}

func family(name, help string, kind dto.MetricType, list ...*dto.Metric) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &name, Help: &help, Type: &kind, Metric: list}
}

// pairs are labels in the order of their names, without empty ones.
func pairs(labels []Label) []*dto.LabelPair {
	var out []*dto.LabelPair
	for _, l := range labels {
		if l.Value != "" {
			out = append(out, &dto.LabelPair{Name: new(l.Name), Value: new(l.Value)})
		}
	}
	return sorted(out)
}

// sorted sorts labels by their names, as remote write demands.
func sorted(list []*dto.LabelPair) []*dto.LabelPair {
	slices.SortFunc(list, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return list
}

// Families are all metrics of a tally. Every sample has the labels of the run.
func Families(tally *telemetry.Reader, run ...Label) []*dto.MetricFamily {
	w := &writer{run: run}
	tally.Read(func(levels []*telemetry.Level, usage telemetry.Usage) {
		w.levels = levels
		w.outcomes()
		w.histogram("redline_request_duration_seconds", "Latency of requests that succeeded.", func(l *telemetry.Level) *telemetry.Histogram { return &l.Latency })
		w.histogram("redline_first_response_seconds", "Time to the first token, or to the first response of a stream.", func(l *telemetry.Level) *telemetry.Histogram { return &l.First })
		w.histogram("redline_token_interval_seconds", "Time per output token after the first.", func(l *telemetry.Level) *telemetry.Histogram { return &l.Gap })
		w.histogram("redline_send_lag_seconds", "Send time minus due time, in open loop.", func(l *telemetry.Level) *telemetry.Histogram { return &l.Lag })
		w.counter("redline_input_tokens_total", "Tokens of the prompts.", func(l *telemetry.Level) uint64 { return l.InputTokens })
		w.counter("redline_output_tokens_total", "Tokens of the responses.", func(l *telemetry.Level) uint64 { return l.Tokens })
		w.gauge("redline_in_flight", "Requests in flight.", func(l *telemetry.Level) float64 { return float64(l.InFlight) })
		w.gauge("redline_asked_in_flight", "Requested concurrency; 0 if the load has a schedule, or the level is over.", func(l *telemetry.Level) float64 { return l.AskedInFlight })
		w.gauge("redline_asked_rate", "Request rate of the schedule, per second; 0 if the load has no schedule, or the level is over.", func(l *telemetry.Level) float64 { return l.AskedRate })
		w.out = append(w.out,
			Gauge("redline_client_cpu_cores", "CPU cores that the client used since the last reading.", usage.CPUCores, run...),
			Gauge("redline_client_gc_pause_max_seconds", "Longest pause of the client's garbage collector since the last reading.", usage.GCPause.Seconds(), run...),
			Gauge("redline_client_scheduler_delay_max_seconds", "Longest time that a ready goroutine waited since the last reading.", usage.SchedDelay.Seconds(), run...))
	})
	return w.out
}

type writer struct {
	run    []Label
	levels []*telemetry.Level
	out    []*dto.MetricFamily
}

func (w *writer) labels(l *telemetry.Level, more ...Label) []*dto.LabelPair {
	return pairs(slices.Concat(w.run, []Label{{"class", l.Class}, {"level", l.Name}}, more))
}

func (w *writer) outcomes() {
	f := family("redline_requests_total", "Requests that have ended, by outcome: ok, or the class of the failure.", dto.MetricType_COUNTER)
	for _, l := range w.levels {
		for class, n := range l.Outcomes {
			if n > 0 || class == int(record.OK) {
				f.Metric = append(f.Metric, &dto.Metric{Label: w.labels(l, Label{"outcome", record.Class(class).String()}), Counter: &dto.Counter{Value: new(float64(n))}})
			}
		}
	}
	w.add(f)
}

func (w *writer) counter(name, help string, value func(*telemetry.Level) uint64) {
	f := family(name, help, dto.MetricType_COUNTER)
	for _, l := range w.levels {
		if n := value(l); n > 0 {
			f.Metric = append(f.Metric, &dto.Metric{Label: w.labels(l), Counter: &dto.Counter{Value: new(float64(n))}})
		}
	}
	w.add(f)
}

func (w *writer) gauge(name, help string, value func(*telemetry.Level) float64) {
	f := family(name, help, dto.MetricType_GAUGE)
	for _, l := range w.levels {
		v := value(l)
		f.Metric = append(f.Metric, &dto.Metric{Label: w.labels(l), Gauge: &dto.Gauge{Value: &v}})
	}
	w.add(f)
}

func (w *writer) histogram(name, help string, pick func(*telemetry.Level) *telemetry.Histogram) {
	f := family(name, help, dto.MetricType_HISTOGRAM)
	for _, l := range w.levels {
		if h := pick(l); h.Count() > 0 {
			f.Metric = append(f.Metric, &dto.Metric{Label: w.labels(l), Histogram: native(h.Exponential())})
		}
	}
	w.add(f)
}

// add keeps a family that has samples.
func (w *writer) add(f *dto.MetricFamily) {
	if len(f.Metric) > 0 {
		w.out = append(w.out, f)
	}
}

// native is a histogram in Prometheus' form: spans of buckets in a row, and the difference of each count to the one before. Bucket i of
// Prometheus ends where bucket i−1 of OpenTelemetry ends.
func native(e telemetry.Exponential) *dto.Histogram {
	h := &dto.Histogram{
		SampleCount: &e.Count, SampleSum: &e.Sum, Schema: proto.Int32(telemetry.Scale), ZeroThreshold: proto.Float64(0), ZeroCount: &e.Zeros,
	}
	next, before := 0, int64(0)
	for i, n := range e.Counts {
		if n == 0 {
			continue
		}
		at := e.Offset + i + 1
		if last := len(h.PositiveSpan) - 1; last >= 0 && at == next {
			*h.PositiveSpan[last].Length++
		} else {
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: new(int32(at - next)), Length: proto.Uint32(1)})
		}
		h.PositiveDelta = append(h.PositiveDelta, int64(n)-before)
		next, before = at+1, int64(n)
	}
	return h
}
