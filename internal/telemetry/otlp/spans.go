package otlp

import (
	"encoding/binary"
	"math/rand/v2"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/telemetry"
)

// traced is a request that becomes a span.
type traced interface {
	// encode appends the fields of the span.
	encode(e *encoder)
}

// maxChunks limits the chunks of one response that become events of its span.
const maxChunks = 1000

// Flags of spans: sampled, and whether the span above comes from another process.
const (
	localParent  = 1 | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	remoteParent = localParent | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
)

// sentRequest is a request of the load. Its span goes from its due time to its end, with the times between as events.
type sentRequest telemetry.Request

func (r *sentRequest) encode(e *encoder) {
	trace, span := r.ID.Trace(), r.ID.Span()
	e.bytes(spanTrace, trace[:])
	e.bytes(spanID, span[:])
	e.flags(localParent)
	e.text(spanName, "request")
	e.number(spanKind, uint64(tracepb.Span_SPAN_KIND_CLIENT))
	e.time(spanStart, clock.Wall(min(r.Due, r.Sent)))
	e.time(spanEnd, clock.Wall(r.End))
	e.textAttribute("redline.level", r.Level)
	e.textAttribute("redline.outcome", r.Outcome)
	e.numberAttribute("redline.responses", int(r.Responses))
	if r.Output > 0 {
		e.numberAttribute("gen_ai.usage.input_tokens", r.Input)
		e.numberAttribute("gen_ai.usage.output_tokens", r.Output)
	}
	if r.Class != "" {
		e.textAttribute("redline.class", r.Class)
	}
	event := func(name string, ns int64) {
		if ns > 0 {
			e.event(name, clock.Wall(ns))
		}
	}
	event("due", r.Due)
	event("sent", r.Sent)
	event("first byte", r.First)
	chunks := r.Chunks[:min(len(r.Chunks), maxChunks)]
	for _, ns := range chunks {
		event("tokens", ns)
	}
	event("end", r.End)
	if dropped := len(r.Chunks) - len(chunks); dropped > 0 {
		e.number(spanDroppedEvents, uint64(dropped))
	}
	if r.Outcome != "ok" {
		e.failed(r.Outcome)
	}
}

// servedRequest is a request that the reference server served. Its span goes from the time at which it was received to its last
// response, below the span of the client.
type servedRequest telemetry.Served

func (r *servedRequest) encode(e *encoder) {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) // zeros alone are no id
	e.bytes(spanTrace, r.Trace[:])
	e.bytes(spanID, id[:])
	e.bytes(spanParent, r.Parent[:])
	e.flags(remoteParent)
	e.text(spanName, r.Name)
	e.number(spanKind, uint64(tracepb.Span_SPAN_KIND_SERVER))
	e.time(spanStart, r.Received)
	e.time(spanEnd, r.End)
	e.textAttribute("network.protocol.version", r.Version)
	if r.RPC {
		e.textAttribute("rpc.system", "grpc")
		e.numberAttribute("rpc.grpc.status_code", r.Status)
	} else {
		e.numberAttribute("http.response.status_code", r.Status)
	}
	e.event("received", r.Received)
	if r.First > 0 {
		e.event("first response", r.First)
		e.event("last response", r.End)
	}
	if r.Failed {
		e.failed("")
	}
}
