package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
)

const (
	// queued is how many spans may wait. What comes when the queue is full is dropped and counted.
	queued = 4096
	// batch is how many spans one message has at most.
	batch = 512
	// exportLimit limits one message of spans.
	exportLimit = 5 * time.Second
	// maxChunks limits the chunks of one response that become events of its span.
	maxChunks = 1000
)

// Tracer sends the spans of traced requests. Its queue is bounded: it never makes the load wait.
type Tracer struct {
	address  string
	patience time.Duration
	exporter sdk.SpanExporter
	resource *resource.Resource
	queue    chan telemetry.Request
	closing  chan struct{}
	done     sync.WaitGroup
	cancel   context.CancelCauseFunc // ends the message under way
	dropped  atomic.Uint64

	// Of the goroutine that sends.
	sent   result.Sent
	failed uint64 // spans of messages that failed
}

// OpenTracer starts to send spans to the collector of cfg. Close ends it: the end of ctx does not, so that the spans of a run that was
// interrupted arrive too.
func OpenTracer(ctx context.Context, cfg Config) (*Tracer, error) {
	to, err := parse(cfg.Endpoint, cfg.Protocol)
	if err != nil {
		return nil, err
	}
	exporter, err := newSpanExporter(ctx, to, &cfg)
	if err != nil {
		return nil, fmt.Errorf("send spans to %s: %w", cfg.address(), err)
	}
	res, err := cfg.Run.resource(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tracer{
		address: cfg.address(), patience: cfg.patience(), exporter: exporter, resource: res, queue: make(chan telemetry.Request, queued),
		closing: make(chan struct{}),
	}
	ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.done.Go(func() { t.run(ctx) })
	return t, nil
}

func newSpanExporter(ctx context.Context, to target, cfg *Config) (sdk.SpanExporter, error) {
	secure, err := clientTLS(cfg.CA)
	if err != nil {
		return nil, err
	}
	if to.grpc {
		options := []otlptracegrpc.Option{otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: nextRetry, MaxElapsedTime: allRetries})}
		if to.address != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(to.url()))
		}
		if secure != nil {
			options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(secure)))
		}
		if len(cfg.Headers) > 0 {
			options = append(options, otlptracegrpc.WithHeaders(cfg.Headers))
		}
		return otlptracegrpc.New(ctx, options...)
	}
	options := []otlptracehttp.Option{otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: firstRetry, MaxInterval: nextRetry, MaxElapsedTime: allRetries})}
	if to.base != "" {
		options = append(options, otlptracehttp.WithEndpointURL(to.base+"/v1/traces"))
	}
	if secure != nil {
		options = append(options, otlptracehttp.WithTLSClientConfig(secure))
	}
	if len(cfg.Headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(cfg.Headers))
	}
	return otlptracehttp.New(ctx, options...)
}

// Add sends the span of a request, or drops it if the queue is full. It does not wait.
func (t *Tracer) Add(r telemetry.Request) {
	select {
	case t.queue <- r:
	default:
		t.dropped.Add(1)
	}
}

// run sends the spans that came, at least once a second.
func (t *Tracer) run(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	var spans []sdk.ReadOnlySpan
	for {
		select {
		case r := <-t.queue:
			spans = t.addSpan(ctx, spans, &r)
		case <-tick.C:
			spans = t.send(ctx, spans)
		case <-t.closing:
			for len(t.queue) > 0 { // this goroutine alone receives
				r := <-t.queue
				spans = t.addSpan(ctx, spans, &r)
			}
			t.send(ctx, spans)
			return
		}
	}
}

// addSpan adds the span of a request, and sends a full batch.
func (t *Tracer) addSpan(ctx context.Context, spans []sdk.ReadOnlySpan, r *telemetry.Request) []sdk.ReadOnlySpan {
	if spans = append(spans, t.span(r)); len(spans) < batch {
		return spans
	}
	return t.send(ctx, spans)
}

// send sends spans in one message and returns the empty list.
func (t *Tracer) send(ctx context.Context, spans []sdk.ReadOnlySpan) []sdk.ReadOnlySpan {
	if len(spans) == 0 {
		return spans
	}
	ctx, cancel := context.WithTimeoutCause(ctx, exportLimit, noAnswer(exportLimit))
	defer cancel()
	t.sent.Sends++
	if err := t.exporter.ExportSpans(ctx, spans); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		t.sent.Failed++
		t.failed += uint64(len(spans))
		if t.sent.Error == "" {
			t.sent.Error = err.Error()
		}
	} else {
		t.sent.Spans += uint64(len(spans))
	}
	clear(spans)
	return spans[:0]
}

func noAnswer(limit time.Duration) error { return fmt.Errorf("no answer within %v", limit) }

// Close sends what waits, within the patience of the configuration, and reports what arrived. Spans that are added later are dropped.
func (t *Tracer) Close(ctx context.Context) result.Sent {
	close(t.closing)
	late := time.AfterFunc(t.patience, func() { t.cancel(noAnswer(t.patience)) })
	t.done.Wait()
	late.Stop()
	t.cancel(nil)
	ctx, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	err := t.exporter.Shutdown(ctx)
	out := t.sent
	out.To, out.Address, out.Dropped = result.SpansSent, t.address, t.dropped.Load()+t.failed
	out.Complete = out.Dropped == 0
	if err != nil && !errors.Is(err, context.Canceled) && out.Error == "" {
		out.Error = err.Error()
	}
	return out
}

// span makes the span of a request: from its due time to its end, with the times between as events. The stub of the SDK takes the
// times and names as they are; a tracer of the SDK would choose its own names and would have to be called when the request is sent.
func (t *Tracer) span(r *telemetry.Request) sdk.ReadOnlySpan {
	at := func(ns int64) time.Time { return time.Unix(0, clock.Wall(ns)) }
	stub := tracetest.SpanStub{
		Name: "request", SpanKind: trace.SpanKindClient, StartTime: at(min(r.Due, r.Sent)), EndTime: at(r.End), Resource: t.resource,
		SpanContext:          trace.NewSpanContext(trace.SpanContextConfig{TraceID: r.ID.Trace, SpanID: r.ID.Span, TraceFlags: trace.FlagsSampled}),
		InstrumentationScope: instrumentation.Scope{Name: scope},
		Attributes:           []attribute.KeyValue{attribute.String("redline.level", r.Level), attribute.String("redline.outcome", r.Outcome), attribute.Int("redline.responses", int(r.Responses))},
	}
	event := func(name string, ns int64) {
		if ns > 0 {
			stub.Events = append(stub.Events, sdk.Event{Name: name, Time: at(ns)})
		}
	}
	event("due", r.Due)
	event("sent", r.Sent)
	event("first byte", r.First)
	for i, ns := range r.Chunks {
		if i == maxChunks {
			stub.DroppedEvents = len(r.Chunks) - maxChunks
			break
		}
		event("tokens", ns)
	}
	event("end", r.End)
	if r.Output > 0 {
		stub.Attributes = append(stub.Attributes, attribute.Int("gen_ai.usage.input_tokens", r.Input), attribute.Int("gen_ai.usage.output_tokens", r.Output))
	}
	if r.Class != "" {
		stub.Attributes = append(stub.Attributes, attribute.String("redline.class", r.Class))
	}
	if r.Outcome != "ok" {
		stub.Status = sdk.Status{Code: codes.Error, Description: r.Outcome}
	}
	return stub.Snapshot()
}
