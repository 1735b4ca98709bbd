package otlp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"google.golang.org/grpc/credentials"

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
)

// Tracer sends the spans of traced requests. Its queue is bounded: it never makes the load, or the server, wait.
//
// It encodes the spans itself and gives them to the client of the official exporter. Spans of the SDK would choose their ids, would have
// to be started when the request is sent, and cost several times as much (BenchmarkSpans).
type Tracer struct {
	address  string
	patience time.Duration
	client   otlptrace.Client
	queue    chan traced
	closing  chan struct{}
	done     sync.WaitGroup
	cancel   context.CancelCauseFunc // ends the message under way
	dropped  atomic.Uint64

	// Of the goroutine that sends.
	next   *message
	sent   result.Sent
	failed uint64 // spans of messages that failed
}

// OpenTracer starts to send spans to the collector of cfg. Close ends it: the end of ctx does not, so that the spans of a run that was
// interrupted arrive too.
func OpenTracer(ctx context.Context, cfg Config) (*Tracer, error) {
	to, err := cfg.collector()
	if err != nil {
		return nil, err
	}
	client := newSpanClient(to)
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("send spans to %s: %w", cfg.address(), err)
	}
	res, err := cfg.Run.resource(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tracer{
		address: cfg.address(), patience: cfg.patience(), client: client, queue: make(chan traced, queued), closing: make(chan struct{}),
		next: newMessage(res),
	}
	ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.done.Go(func() { t.run(ctx) })
	return t, nil
}

func newSpanClient(to collector) otlptrace.Client {
	if to.grpc {
		secure := func(c *tls.Config) otlptracegrpc.Option {
			return otlptracegrpc.WithTLSCredentials(credentials.NewTLS(c))
		}
		return otlptracegrpc.NewClient(options(to, "", otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig(retries)),
			otlptracegrpc.WithEndpointURL, secure, otlptracegrpc.WithHeaders)...)
	}
	return otlptracehttp.NewClient(options(to, "/v1/traces", otlptracehttp.WithRetry(otlptracehttp.RetryConfig(retries)),
		otlptracehttp.WithEndpointURL, otlptracehttp.WithTLSClientConfig, otlptracehttp.WithHeaders)...)
}

// Add sends the span of a request of the load, or drops it if the queue is full. It does not wait.
func (t *Tracer) Add(r telemetry.Request) { t.put((*sentRequest)(&r)) }

// AddServed sends the span of a request that the reference server served, or drops it if the queue is full. It does not wait.
func (t *Tracer) AddServed(r telemetry.Served) { t.put((*servedRequest)(&r)) }

func (t *Tracer) put(r traced) {
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
	for {
		select {
		case r := <-t.queue:
			t.addSpan(ctx, r)
		case <-tick.C:
			t.send(ctx)
		case <-t.closing:
			for len(t.queue) > 0 { // this goroutine alone receives
				t.addSpan(ctx, <-t.queue)
			}
			t.send(ctx)
			return
		}
	}
}

// addSpan adds the span of a request, and sends a full batch.
func (t *Tracer) addSpan(ctx context.Context, r traced) {
	if t.next.add(r); t.next.count == batch {
		t.send(ctx)
	}
}

// send sends the spans that wait in one message.
func (t *Tracer) send(ctx context.Context) {
	n := uint64(t.next.count)
	if n == 0 {
		return
	}
	defer t.next.reset()
	ctx, cancel := context.WithTimeoutCause(ctx, exportLimit, noAnswer(exportLimit))
	defer cancel()
	t.sent.Sends++
	if err := t.client.UploadTraces(ctx, t.next.encoded()); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		t.sent.Failed++
		t.failed += n
		if t.sent.Error == "" {
			t.sent.Error = err.Error()
		}
	} else {
		t.sent.Spans += n
	}
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
	err := t.client.Stop(ctx)
	out := t.sent
	out.To, out.Address, out.Dropped = result.SpansSent, t.address, t.dropped.Load()+t.failed
	out.Complete = out.Dropped == 0
	if err != nil && !errors.Is(err, context.Canceled) && out.Error == "" {
		out.Error = err.Error()
	}
	return out
}
