package null

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

const (
	inferPath  = "/inference.GRPCInferenceService/ModelInfer"
	streamPath = "/inference.GRPCInferenceService/ModelStreamInfer"
)

// message responds to one message of a call.
func (c *rpcSession) message(s *stream, in, out []byte) []byte {
	if s.path != inferPath && s.path != streamPath {
		return c.call(s, in, out)
	}
	id, name, err := inferKey(s.path, in)
	if err != nil {
		return c.fail(s, "13", err.Error(), out)
	}
	if c.last == nil || c.lastID != name {
		k := c.server.kinds.get(name)
		if k == nil {
			return c.learn(s, name, in, id, out)
		}
		c.last, c.lastID = k, name
	}
	return c.reply(s, c.last.answer, id, out)
}

// inferKey finds the id of an inference request, and the key of the rest without the raw tensors.
func inferKey(path string, in []byte) (id []byte, name key, err error) {
	name = key{hash: uint64(len(path))}
	start := 0 // of the bytes that are not yet in the hash
	mix := func(b []byte) {
		if len(b) > 0 {
			name.hash = name.hash*31 ^ maphash.Bytes(seed, b)
		}
	}
	for at := 0; at < len(in); {
		field, kind, n := protowire.ConsumeTag(in[at:])
		if n < 0 {
			return nil, name, protowire.ParseError(n)
		}
		m := protowire.ConsumeFieldValue(field, kind, in[at+n:])
		if m < 0 {
			return nil, name, protowire.ParseError(m)
		}
		switch {
		case field == 3 && kind == protowire.BytesType:
			mix(in[start:at])
			id, _ = protowire.ConsumeBytes(in[at+n:])
			start = at + n + m
		case field == 7 && kind == protowire.BytesType:
			mix(in[start:at])
			name.length = name.length*31 + m
			start = at + n + m
		}
		at += n + m
	}
	mix(in[start:])
	return id, name, nil
}

// reply sends a kept answer with an id. A response in a stream is wrapped once more.
func (c *rpcSession) reply(s *stream, answer, id, out []byte) []byte {
	size := len(answer)
	if len(id) > 0 {
		size += 1 + protowire.SizeBytes(len(id))
	}
	wrapped := s.path == streamPath
	total := size
	if wrapped {
		total = 1 + protowire.SizeBytes(size)
	}
	b := c.scratch[:0]
	b = append(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(total))
	if wrapped {
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
	}
	if len(id) > 0 {
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendBytes(b, id)
	}
	b = append(b, answer...)
	c.scratch = b[:0]
	return c.send(s, b, out)
}

// learn lets the reference server respond and keeps its response.
func (c *rpcSession) learn(s *stream, name key, in, id, out []byte) []byte {
	answer, err := c.server.behind.call(inferPath, in)
	if err != nil {
		return c.status(s, err, out)
	}
	resp := &kserve.ModelInferResponse{}
	if err := proto.Unmarshal(answer, resp); err != nil {
		return c.status(s, err, out)
	}
	resp.Id = ""
	if s.path == streamPath {
		resp.Parameters = map[string]*kserve.InferParameter{"triton_final_response": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: true}}}
	}
	if answer, err = proto.Marshal(resp); err != nil {
		return c.status(s, err, out)
	}
	c.server.kinds.put(name, &kind{answer: answer})
	return c.reply(s, answer, id, out)
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// call answers any other method through the reference server.
func (c *rpcSession) call(s *stream, in, out []byte) []byte {
	answer, err := c.server.behind.call(s.path, in)
	if err != nil {
		return c.status(s, err, out)
	}
	return c.send(s, framed(answer), out)
}

// send adds a message of a call: at once when there is room, which is nearly always.
func (c *rpcSession) send(s *stream, message, out []byte) []byte {
	if !s.opened {
		out = c.appendOpening(s.id, out)
		s.opened = true
	}
	size := int64(len(message))
	if len(s.pending) == 0 && size <= maxFrame && size <= c.window && size <= s.window {
		c.window -= size
		s.window -= size
		out = appendHead(out, len(message), http2.FrameData, 0, s.id)
		return append(out, message...)
	}
	s.pending = append(s.pending, message...)
	if !slices.Contains(c.blocked, s) {
		c.blocked = append(c.blocked, s)
	}
	return c.flush(out)
}

// flush sends what waited for room.
func (c *rpcSession) flush(out []byte) []byte {
	for i := 0; i < len(c.blocked); {
		s := c.blocked[i]
		for len(s.pending) > 0 {
			n := min(int64(len(s.pending)), maxFrame, c.window, s.window)
			if n <= 0 {
				break
			}
			out = appendHead(out, int(n), http2.FrameData, 0, s.id)
			out = append(out, s.pending[:n]...)
			s.pending = s.pending[n:]
			c.window -= n
			s.window -= n
		}
		if len(s.pending) > 0 {
			i++
			continue
		}
		c.blocked = slices.Delete(c.blocked, i, i+1)
		if s.closing {
			out = c.close(s, out)
		}
	}
	return out
}

// end finishes a call whose client has sent all.
func (c *rpcSession) end(s *stream, out []byte) []byte {
	if len(s.pending) > 0 {
		s.closing = true
		return out
	}
	if !s.opened {
		out = c.appendOpening(s.id, out)
	}
	return c.close(s, out)
}

// close sends the trailers of success.
func (c *rpcSession) close(s *stream, out []byte) []byte {
	delete(c.streams, s.id)
	block := literalStatus
	switch {
	case c.noTable:
	case c.table == 2:
		block = newest
	default:
		block, c.table = addStatus, 2
	}
	out = appendHead(out, len(block), http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, s.id)
	s.id = 0
	return append(out, block...)
}

// Header fields of responses. The first opening of a connection puts content-type into the peer's table, and the first
// trailers grpc-status: then that is the newest entry, with index 62, and content-type has 63.
const (
	status200     = "\x88"
	newest        = "\xbe"
	second        = "\xbf"
	addType       = "\x5f\x10application/grpc"
	literalType   = "\x0f\x10\x10application/grpc"
	addStatus     = "\x40\x0bgrpc-status\x010"
	literalStatus = "\x00\x0bgrpc-status\x010"
)

// appendOpening sends the headers of a response.
func (c *rpcSession) appendOpening(id uint32, out []byte) []byte {
	block := status200 + literalType
	switch {
	case c.noTable:
	case c.table == 2:
		block = status200 + second
	case c.table == 1:
		block = status200 + newest
	default:
		block, c.table = status200+addType, 1
	}
	out = appendHead(out, len(block), http2.FrameHeaders, http2.FlagHeadersEndHeaders, id)
	return append(out, block...)
}

// status ends a call with an error of the reference server.
func (c *rpcSession) status(s *stream, err error, out []byte) []byte {
	st := status.Convert(err)
	return c.fail(s, strconv.Itoa(int(st.Code())), st.Message(), out)
}

// fail ends a call with an error.
func (c *rpcSession) fail(s *stream, code, text string, out []byte) []byte {
	var block bytes.Buffer
	if !s.opened {
		block.WriteString(status200 + literalType)
	}
	pack := hpack.NewEncoder(&block) // a sensitive field changes no table
	for _, f := range [][2]string{{"grpc-status", code}, {"grpc-message", url.PathEscape(text)}} {
		_ = pack.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // into memory
	}
	out = appendHead(out, block.Len(), http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, s.id)
	delete(c.streams, s.id)
	s.id = 0
	return append(out, block.Bytes()...)
}
