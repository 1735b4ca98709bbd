package outcome

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	dto "github.com/prometheus/client_model/go"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/otlp"
	"github.com/redline-bench/redline/internal/telemetry/prom"
	"github.com/redline-bench/redline/internal/traceid"
)

// sender sends the numbers of a run to another tool while the run goes on.
type sender interface {
	// Close sends what is left, within a few seconds, and says what arrived.
	Close(ctx context.Context) result.Sent
}

// telemetries is what other tools get of a run. A nil one gives nothing.
type telemetries struct {
	tally   *telemetry.Tally
	run     []prom.Label // of the run, for Prometheus
	tracer  *otlp.Tracer // nil without --trace-requests
	senders []sender
}

// newTelemetries counts the run where an option asks for it.
func (o *Outcome) newTelemetries() *telemetries {
	if o.opts.OTLP == "" && o.opts.MetricsListen == "" && o.opts.RemoteWrite == "" {
		return nil
	}
	return &telemetries{tally: telemetry.NewTally(), run: []prom.Label{{Name: "run_id", Value: o.runID}, {Name: "label", Value: o.Secrets.Redact(o.opts.Label)}}}
}

// newRunID names a run everywhere.
func newRunID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// checkTelemetry finds wrong addresses before anything else is done.
func checkTelemetry(p *command.IO, opts *plan.Outcome) error {
	if opts.RemoteWrite != "" {
		if err := prom.CheckURL(opts.RemoteWrite); err != nil {
			return command.Usage(fmt.Errorf("--prometheus-remote-write %w", err))
		}
	}
	if opts.OTLP == "" && opts.TraceRequests > 0 {
		return command.Usage(errors.New("--trace-requests needs --otlp"))
	}
	return collector(opts).Check(p, Metrics, Traces)
}

func collector(opts *plan.Outcome) Collector {
	return Collector{Endpoint: opts.OTLP, Headers: opts.OTLPHeaders, CA: opts.OTLPCA}
}

// openSenders starts to send the numbers of the run. model is the model of the run.
func (o *Outcome) openSenders(ctx context.Context, model string) error {
	model = o.Secrets.Redact(model)
	if o.opts.RemoteWrite != "" {
		run, tally := append(slices.Clone(o.telemetry.run), prom.Label{Name: "model", Value: model}), o.telemetry.tally.NewReader()
		w, err := prom.OpenRemoteWriter(ctx, o.opts.RemoteWrite, prom.FormsOf(o.opts.Histograms), func() []*dto.MetricFamily { return prom.Families(tally, run...) })
		if err != nil {
			return fmt.Errorf("--prometheus-remote-write: %w", err)
		}
		o.telemetry.senders = append(o.telemetry.senders, w)
	}
	if o.opts.OTLP == "" {
		return nil
	}
	return o.openOTLP(ctx, model)
}

// openOTLP starts to send metrics, and spans where requests are traced, to an OpenTelemetry collector.
func (o *Outcome) openOTLP(ctx context.Context, model string) error {
	to := collector(&o.opts)
	to.Prepare(o.IO)
	t := o.telemetry
	run := otlp.Run{Service: "redline", ID: o.runID, Command: o.command, Label: o.Secrets.Redact(o.opts.Label), Model: model, Version: o.Version}
	cfg := to.Config(o.IO, Metrics, run)
	if o.Getenv("OTEL_METRIC_EXPORT_INTERVAL") == "" {
		cfg.Interval = otlp.Interval
	}
	e, err := otlp.Open(ctx, cfg, t.tally)
	if err != nil {
		return fmt.Errorf("--otlp: %w", err)
	}
	t.senders = append(t.senders, e)
	if o.tracing == nil {
		return nil
	}
	if t.tracer, err = otlp.OpenTracer(ctx, to.Config(o.IO, Traces, run)); err != nil {
		return fmt.Errorf("--trace-requests: %w", err)
	}
	t.senders = append(t.senders, t.tracer)
	return nil
}

// newSampler chooses the requests of a run that are traced.
func newSampler(runID string, share float64) *traceid.Sampler {
	h := fnv.New64a()
	_, _ = h.Write([]byte(runID)) // it never fails
	return traceid.New(share, h.Sum64())
}

// Tracing chooses the requests of a traffic class that are traced; nil chooses none. The class is empty in runs without classes.
// It is called before the load, once for each class.
func (o *Outcome) Tracing(class string) *traceid.Sampler {
	if o == nil {
		return nil
	}
	o.samplers[class] = o.tracing.Of(class)
	return o.samplers[class]
}

// spans chooses the records of a traffic class that Tap sends spans of; nil chooses none, as where Responses sends them.
func (o *Outcome) spans(class string) *traceid.Sampler {
	if o.telemetry == nil || o.telemetry.tracer == nil || o.responses[class] {
		return nil
	}
	return o.samplers[class]
}

// trace sends the span of a record that is traced, of a traffic class and a level.
func (o *Outcome) trace(id traceid.ID, class, level string, r *record.Record) {
	o.telemetry.tracer.Add(telemetry.Request{
		ID: id, Class: class, Level: level, Outcome: r.Class.String(), Due: r.Due, Sent: r.Sent, First: r.First, End: r.End, Responses: r.Responses,
	})
}

// Responses counts the tokens of the measured responses of a language model, and sends the spans of those that are traced, with
// their chunks; nil where no option asks for it. It is called before the load, once for each traffic class.
func (o *Outcome) Responses(class string) func(lv *result.Level, r *telemetry.Response) {
	if o == nil || o.telemetry == nil {
		return nil
	}
	o.responses[class] = true
	t, tracing := o.telemetry, o.tracing.Of(class)
	return func(lv *result.Level, r *telemetry.Response) {
		if r.Outcome == record.OK.String() && r.LastChunk > 0 {
			t.tally.Tokens(lv, r.Input, r.Output, r.FirstChunk, r.LastChunk)
		}
		if t.tracer == nil {
			return
		}
		id, ok := tracing.Pick(r.Slot, r.Sent)
		if !ok {
			return
		}
		q := r.Request
		q.ID, q.Class, q.Level, q.Chunks = id, class, measure.LoadName(lv), slices.Collect(r.Times)
		t.tracer.Add(q)
	}
}

// add counts a record.
func (t *telemetries) add(lv *result.Level, fromDue bool, r *record.Record) {
	if t != nil {
		t.tally.Add(lv, fromDue, r)
	}
}

// close sends what is left and says what arrived.
func (t *telemetries) close(ctx context.Context) []result.Sent {
	if t == nil {
		return nil
	}
	t.tally.End()
	out := make([]result.Sent, len(t.senders))
	var wait sync.WaitGroup // each may wait for a slow receiver
	for i, s := range t.senders {
		wait.Go(func() { out[i] = s.Close(ctx) })
	}
	wait.Wait()
	t.senders = nil
	return out
}

// InFlight notes how many requests of a level are in flight.
func (o *Outcome) InFlight(lv *result.Level, n int) {
	if o != nil && o.telemetry != nil {
		o.telemetry.tally.InFlight(lv, n)
	}
}
