package otlp

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/telemetry"
)

// scope names the instrumentation in what is sent.
const scope = "github.com/redline-bench/redline"

// producer turns a tally into points. The SDK's reader asks for them once per interval: no request calls the SDK.
type producer struct{ tally *telemetry.Reader }

// Produce implements metric.Producer.
func (p producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	var list []metricdata.Metrics
	p.tally.Read(func(levels []*telemetry.Level, usage telemetry.Usage) { list = points(levels, usage, time.Now()) })
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: scope}, Metrics: list}}, nil
}

// points are all metrics of a moment. Counts are totals since the start of the level.
func points(levels []*telemetry.Level, usage telemetry.Usage, now time.Time) []metricdata.Metrics {
	w := &writer{levels: levels, now: now}
	w.outcomes("redline.requests", "Requests that have ended, by outcome: ok, or the class of the failure.")
	w.histogram("redline.request.duration", "Latency of requests that succeeded.", func(l *telemetry.Level) *telemetry.Histogram { return &l.Latency })
	w.histogram("redline.request.first_response", "Time to the first token, or to the first response of a stream.", func(l *telemetry.Level) *telemetry.Histogram { return &l.First })
	w.histogram("redline.token.interval", "Time per output token after the first.", func(l *telemetry.Level) *telemetry.Histogram { return &l.Gap })
	w.histogram("redline.send_lag", "Send time minus due time, in open loop.", func(l *telemetry.Level) *telemetry.Histogram { return &l.Lag })
	w.count("redline.tokens.input", "{token}", "Tokens of the prompts.", func(l *telemetry.Level) uint64 { return l.InputTokens })
	w.count("redline.tokens.output", "{token}", "Tokens of the responses.", func(l *telemetry.Level) uint64 { return l.Tokens })
	w.gauge("redline.in_flight", "{request}", "Requests in flight.", func(l *telemetry.Level) float64 { return float64(l.InFlight) })
	w.gauge("redline.asked.in_flight", "{request}", "Requested concurrency; 0 if the load has a schedule, or the level is over.", func(l *telemetry.Level) float64 { return l.AskedInFlight })
	w.gauge("redline.asked.rate", "{request}/s", "Request rate of the schedule, per second; 0 if the load has no schedule, or the level is over.", func(l *telemetry.Level) float64 { return l.AskedRate })
	w.health("redline.client.cpu", "{cpu}", "CPU cores that the client used since the point before.", usage.CPUCores)
	w.health("redline.client.gc_pause.max", "s", "Longest pause of the client's garbage collector since the point before.", usage.GCPause.Seconds())
	w.health("redline.client.scheduler_delay.max", "s", "Longest time that a ready goroutine waited since the point before.", usage.SchedDelay.Seconds())
	return w.out
}

// writer collects metrics.
type writer struct {
	levels []*telemetry.Level
	now    time.Time
	out    []metricdata.Metrics
}

func (w *writer) add(name, unit, help string, data metricdata.Aggregation) {
	w.out = append(w.out, metricdata.Metrics{Name: name, Unit: unit, Description: help, Data: data})
}

func of(l *telemetry.Level, more ...attribute.KeyValue) attribute.Set {
	if l.Class != "" {
		more = append(more, attribute.String("redline.class", l.Class))
	}
	return attribute.NewSet(append(more, attribute.String("redline.level", l.Name))...)
}

func (w *writer) outcomes(name, help string) {
	sum := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	for _, l := range w.levels {
		for class, n := range l.Outcomes {
			if n > 0 || class == int(record.OK) {
				sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{
					Attributes: of(l, attribute.String("redline.outcome", record.Class(class).String())), StartTime: l.Start, Time: w.now, Value: int64(n),
				})
			}
		}
	}
	w.add(name, "{request}", help, sum)
}

func (w *writer) count(name, unit, help string, value func(*telemetry.Level) uint64) {
	sum := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: true}
	for _, l := range w.levels {
		if n := value(l); n > 0 {
			sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{Attributes: of(l), StartTime: l.Start, Time: w.now, Value: int64(n)})
		}
	}
	if len(sum.DataPoints) > 0 {
		w.add(name, unit, help, sum)
	}
}

func (w *writer) gauge(name, unit, help string, value func(*telemetry.Level) float64) {
	g := metricdata.Gauge[float64]{}
	for _, l := range w.levels {
		g.DataPoints = append(g.DataPoints, metricdata.DataPoint[float64]{Attributes: of(l), Time: w.now, Value: value(l)})
	}
	w.add(name, unit, help, g)
}

func (w *writer) health(name, unit, help string, value float64) {
	w.add(name, unit, help, metricdata.Gauge[float64]{DataPoints: []metricdata.DataPoint[float64]{{Time: w.now, Value: value}}})
}

func (w *writer) histogram(name, help string, pick func(*telemetry.Level) *telemetry.Histogram) {
	data := metricdata.ExponentialHistogram[float64]{Temporality: metricdata.CumulativeTemporality}
	for _, l := range w.levels {
		h := pick(l)
		if h.Count() == 0 {
			continue
		}
		e := h.Exponential()
		data.DataPoints = append(data.DataPoints, metricdata.ExponentialHistogramDataPoint[float64]{
			Attributes: of(l), StartTime: l.Start, Time: w.now, Count: e.Count, Sum: e.Sum, Min: metricdata.NewExtrema(e.Min), Max: metricdata.NewExtrema(e.Max),
			Scale: telemetry.Scale, ZeroCount: e.Zeros, PositiveBucket: metricdata.ExponentialBucket{Offset: int32(e.Offset), Counts: e.Counts},
		})
	}
	if len(data.DataPoints) > 0 {
		w.add(name, "s", help, data)
	}
}
