package faults

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// relay passes the frames of one connection between a client and the reference server.
type relay struct {
	s       *front
	c       net.Conn // the client
	encoder *hpack.Encoder
	block   bytes.Buffer

	mu     sync.Mutex
	asking map[uint32]*inference // by stream

	// Those below belong to the goroutine that reads from the reference server.
	held map[uint32][]hpack.HeaderField // headers that are sent with the first data
	gone map[uint32]bool                // what the reference server still sends on these is left out
}

// inference is a stream of inferences.
type inference struct {
	grpc                bool // a gRPC stream, which may have several requests without a response
	requests, responses messages
	waiting             int // requests without a response
}

// request notes data of requests.
func (in *inference) request(data []byte) {
	switch {
	case in.grpc:
		in.waiting += in.requests.begin(data)
	case len(data) > 0:
		in.waiting = 1
	}
}

// response counts the first responses to requests that begin in data. A request may have several responses.
func (in *inference) response(data []byte) int {
	n := 1
	if in.grpc {
		n = in.responses.begin(data)
	}
	n = min(n, in.waiting)
	in.waiting -= n
	return n
}

// messages counts the messages of a gRPC stream.
type messages struct {
	prefix []byte // what has come of the five bytes before a message
	rest   int    // what has not come of a message
}

// begin counts the messages that begin in data.
func (m *messages) begin(data []byte) (n int) {
	const size = 5
	for len(data) > 0 {
		if m.rest > 0 {
			part := min(m.rest, len(data))
			m.rest, data = m.rest-part, data[part:]
			continue
		}
		if len(m.prefix) == 0 {
			n++
		}
		part := min(size-len(m.prefix), len(data))
		m.prefix, data = append(m.prefix, data[:part]...), data[part:]
		if len(m.prefix) == size {
			m.rest, m.prefix = int(binary.BigEndian.Uint32(m.prefix[1:])), m.prefix[:0]
		}
	}
	return n
}

// stream is what a fault may act on: the response of an inference, of which the first data have come.
type stream struct {
	*relay
	id     uint32
	fields []hpack.HeaderField // nil where they were sent with an earlier response
	body   []byte
	ended  bool // the body is whole
}

// http2 serves a connection that uses HTTP/2.
func (s *front) http2(c net.Conn) {
	to, err := new(net.Dialer).DialContext(context.WithoutCancel(s.t.Context()), "tcp", s.behind())
	if err != nil {
		return
	}
	defer to.Close()
	r := &relay{s: s, c: c, asking: map[uint32]*inference{}, held: map[uint32][]hpack.HeaderField{}, gone: map[uint32]bool{}}
	r.encoder = hpack.NewEncoder(&r.block)
	s.wg.Go(func() {
		r.responses(to)
		_ = c.Close()
	})
	r.requests(to)
}

// requests passes on what the client sends.
func (r *relay) requests(to net.Conn) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(r.c, preface); err != nil {
		return
	}
	if _, err := to.Write(preface); err != nil {
		return
	}
	headers := hpack.NewDecoder(4096, nil)
	for {
		f, err := readFrame(r.c)
		if err != nil {
			return
		}
		switch f.kind {
		case http2.FrameHeaders:
			fields, err := headers.DecodeFull(f.payload)
			if err != nil {
				return
			}
			r.mu.Lock()
			if in := inferenceOf(fields); in != nil {
				r.asking[f.stream] = in
			}
			r.mu.Unlock()
		case http2.FrameData:
			r.mu.Lock()
			if in := r.asking[f.stream]; in != nil {
				in.request(f.payload)
			}
			r.mu.Unlock()
		default:
		}
		if _, err := to.Write(f.raw); err != nil {
			return
		}
	}
}

// inferenceOf is what the headers of a request ask for; nil if it is something else than inferences.
func inferenceOf(fields []hpack.HeaderField) *inference {
	for _, f := range fields {
		switch {
		case f.Name != ":path":
		case strings.HasSuffix(f.Value, "ModelStreamInfer"):
			return &inference{grpc: true}
		case strings.HasSuffix(f.Value, "Infer"), strings.HasSuffix(f.Value, "/completions"):
			return &inference{}
		}
	}
	return nil
}

// responses passes on what the reference server sends.
func (r *relay) responses(from net.Conn) {
	headers := hpack.NewDecoder(4096, nil)
	for {
		f, err := readFrame(from)
		if err != nil {
			return
		}
		var fields []hpack.HeaderField
		if f.kind == http2.FrameHeaders {
			if fields, err = headers.DecodeFull(f.payload); err != nil {
				return
			}
		}
		st := &stream{relay: r, id: f.stream, fields: r.held[f.stream], body: f.payload, ended: f.flags.Has(http2.FlagDataEndStream)}
		switch {
		case r.gone[f.stream]:
		case f.kind == http2.FrameHeaders && !st.ended:
			r.held[f.stream] = fields
		case f.kind == http2.FrameHeaders:
			st.head(false, r.held[f.stream])
			st.head(true, fields)
		case f.kind == http2.FrameData && r.faulty(f):
			delete(r.held, f.stream)
			r.gone[f.stream] = true
			r.s.fault.http2(st)
		case f.kind == http2.FrameData:
			st.head(false, r.held[f.stream])
			st.data(st.ended, f.payload)
		default:
			_, _ = r.c.Write(f.raw)
		}
	}
}

// faulty counts the inferences whose response begins in data, and reports whether one of them is to get the fault.
func (r *relay) faulty(data frameBytes) bool {
	faulty := false
	for range r.responds(data) {
		faulty = r.s.arrived() || faulty
	}
	return faulty
}

// responds counts the inferences whose response begins in data.
func (r *relay) responds(data frameBytes) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in := r.asking[data.stream]; in != nil {
		return in.response(data.payload)
	}
	return 0
}

// frame sends a frame.
func (r *relay) frame(kind http2.FrameType, flags http2.Flags, id uint32, payload []byte) {
	_, _ = r.c.Write(appendFrame(nil, kind, flags, id, payload))
}

// head sends headers, or trailers with the end of the stream; nothing if there are none.
func (st *stream) head(end bool, fields []hpack.HeaderField) {
	delete(st.held, st.id)
	if len(fields) == 0 {
		return
	}
	st.block.Reset()
	for _, f := range fields {
		_ = st.encoder.WriteField(f) // a buffer takes everything
	}
	flags := http2.FlagHeadersEndHeaders
	if end {
		flags |= http2.FlagHeadersEndStream
	}
	st.frame(http2.FrameHeaders, flags, st.id, st.block.Bytes())
}

// data sends a part of the body.
func (st *stream) data(end bool, b []byte) {
	var flags http2.Flags
	if end {
		flags = http2.FlagDataEndStream
	}
	st.frame(http2.FrameData, flags, st.id, b)
}

// status ends the stream with a gRPC status.
func (st *stream) status(code, message string) {
	fields := []hpack.HeaderField{{Name: "grpc-status", Value: code}, {Name: "grpc-message", Value: message}}
	if st.fields != nil { // nothing was sent yet: headers and trailers in one
		fields = append([]hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}}, fields...)
	}
	st.head(true, fields)
}

// resetStream ends the stream with an error code.
func (st *stream) resetStream(code http2.ErrCode) {
	st.frame(http2.FrameRSTStream, 0, st.id, binary.BigEndian.AppendUint32(nil, uint32(code)))
}

// goAway asks the client to leave. Streams above last were not processed.
func (st *stream) goAway(last uint32, code http2.ErrCode) {
	st.frame(http2.FrameGoAway, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, last), uint32(code)))
}

// frameBytes is a frame as it was read.
type frameBytes struct {
	kind    http2.FrameType
	flags   http2.Flags
	stream  uint32
	payload []byte
	raw     []byte // all of it
}

func readFrame(from io.Reader) (frameBytes, error) {
	const header = 9
	raw := make([]byte, header)
	if _, err := io.ReadFull(from, raw); err != nil {
		return frameBytes{}, err
	}
	size := int(raw[0])<<16 | int(raw[1])<<8 | int(raw[2])
	raw = append(raw, make([]byte, size)...)
	_, err := io.ReadFull(from, raw[header:])
	id := binary.BigEndian.Uint32(raw[5:]) &^ (1 << 31)
	return frameBytes{http2.FrameType(raw[3]), http2.Flags(raw[4]), id, raw[header:], raw}, err
}

func appendFrame(dst []byte, kind http2.FrameType, flags http2.Flags, id uint32, payload []byte) []byte {
	n := len(payload)
	dst = append(dst, byte(n>>16), byte(n>>8), byte(n), byte(kind), byte(flags))
	return append(binary.BigEndian.AppendUint32(dst, id), payload...)
}
