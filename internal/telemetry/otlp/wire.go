package otlp

import (
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of OTLP's messages, by their numbers in trace.proto and common.proto.
const (
	scopeSpansSpan = 2

	spanTrace, spanID, spanParent, spanName, spanKind   = 1, 2, 4, 5, 6
	spanStart, spanEnd, spanAttribute, spanEvent        = 7, 8, 9, 11
	spanDroppedEvents, spanStatus, spanFlags            = 12, 15, 16
	eventTime, eventName                                = 1, 2
	statusCode                                          = 3
	statusMessage                                       = 2
	attributeKey, attributeValue, valueText, valueInt64 = 1, 2, 1, 3
)

// message is a message of OTLP that takes spans as they are encoded. Its memory is used again, so that a span allocates nothing.
type message struct {
	list  []*tracepb.ResourceSpans // the message
	spans *tracepb.ScopeSpans      // the part of it that has the spans
	bytes []byte                   // the encoded spans
	count int
	one   encoder
}

// newMessage makes a message without spans.
func newMessage(res *resource.Resource) *message {
	about := &resourcepb.Resource{}
	for _, kv := range res.Attributes() {
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: kv.Value.String()}}
		about.Attributes = append(about.Attributes, &commonpb.KeyValue{Key: string(kv.Key), Value: value})
	}
	m := &message{spans: &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scope}}}
	m.list = []*tracepb.ResourceSpans{{Resource: about, ScopeSpans: []*tracepb.ScopeSpans{m.spans}, SchemaUrl: res.SchemaURL()}}
	return m
}

// add adds the span of a request.
func (m *message) add(r traced) {
	m.one = m.one[:0]
	r.encode(&m.one)
	m.bytes = protowire.AppendBytes(protowire.AppendTag(m.bytes, scopeSpansSpan, protowire.BytesType), m.one)
	m.count++
}

// encoded is the message with its spans. It is valid until the next reset.
func (m *message) encoded() []*tracepb.ResourceSpans {
	m.spans.ProtoReflect().SetUnknown(m.bytes) // the marshaler copies such bytes as they are
	return m.list
}

// reset removes the spans.
func (m *message) reset() { m.bytes, m.count = m.bytes[:0], 0 }

// encoder appends the fields of one span.
type encoder []byte

func (e *encoder) bytes(field protowire.Number, v []byte) {
	*e = protowire.AppendBytes(protowire.AppendTag(*e, field, protowire.BytesType), v)
}

func (e *encoder) text(field protowire.Number, v string) {
	*e = protowire.AppendString(protowire.AppendTag(*e, field, protowire.BytesType), v)
}

func (e *encoder) number(field protowire.Number, v uint64) {
	*e = protowire.AppendVarint(protowire.AppendTag(*e, field, protowire.VarintType), v)
}

func (e *encoder) time(field protowire.Number, unixNano int64) {
	*e = protowire.AppendFixed64(protowire.AppendTag(*e, field, protowire.Fixed64Type), uint64(unixNano))
}

func (e *encoder) flags(v uint32) {
	*e = protowire.AppendFixed32(protowire.AppendTag(*e, spanFlags, protowire.Fixed32Type), v)
}

// open begins a message of so many bytes within the span.
func (e *encoder) open(field protowire.Number, size int) {
	*e = protowire.AppendVarint(protowire.AppendTag(*e, field, protowire.BytesType), uint64(size))
}

// sizeOf is the size of a field with so many bytes. The numbers of fields here fit in one byte with their type.
func sizeOf(bytes int) int { return 1 + protowire.SizeBytes(bytes) }

func (e *encoder) event(name string, unixNano int64) {
	e.open(spanEvent, 1+protowire.SizeFixed64()+sizeOf(len(name)))
	e.time(eventTime, unixNano)
	e.text(eventName, name)
}

func (e *encoder) textAttribute(name, v string) {
	value := sizeOf(len(v))
	e.open(spanAttribute, sizeOf(len(name))+sizeOf(value))
	e.text(attributeKey, name)
	e.open(attributeValue, value)
	e.text(valueText, v)
}

func (e *encoder) numberAttribute(name string, v int) {
	value := 1 + protowire.SizeVarint(uint64(v))
	e.open(spanAttribute, sizeOf(len(name))+sizeOf(value))
	e.text(attributeKey, name)
	e.open(attributeValue, value)
	e.number(valueInt64, uint64(v))
}

// failed says that the request of the span failed.
func (e *encoder) failed(why string) {
	e.open(spanStatus, sizeOf(len(why))+2)
	e.text(statusMessage, why)
	e.number(statusCode, uint64(tracepb.Status_STATUS_CODE_ERROR))
}
