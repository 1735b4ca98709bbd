package null

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

func newServer(t testing.TB) *Server {
	s, err := Start(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// webRequest is a request as perf_analyzer sends it.
func webRequest(id string) []byte { return webBody(webHead(id)) }

func webHead(id string) string {
	return fmt.Sprintf(`{"id":"%s","inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},`+
		`{"name":"INPUT1","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}],`+
		`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1","parameters":{"binary_data":true}}]}`, id)
}

func webBody(head string) []byte {
	body := head + strings.Repeat("\x01\x00\x00\x00", 32)
	return fmt.Appendf(nil, "POST /v2/models/simple/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s", len(head), len(body), body)
}

func readAnswers(t *testing.T, out []byte) []string {
	t.Helper()
	var bodies []string
	r := bufio.NewReader(bytes.NewReader(out))
	for {
		if _, err := r.Peek(1); err != nil {
			return bodies
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v: %s", resp.StatusCode, err, body)
		}
		bodies = append(bodies, string(body))
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWebAnswersCarryTheirOwnIDs(t *testing.T) {
	s := newServer(t)
	w := &webSession{server: s}
	var in []byte
	ids := []string{"", "0", "281474976710656", ""}
	for _, id := range ids {
		in = append(in, webRequest(id)...)
	}
	// Cut anywhere, the session must wait for the rest.
	half := len(in)/2 + 7
	used, out, err := w.consume(in[:half], nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, out, err = w.consume(in[used:], out); err != nil {
		t.Fatal(err)
	}
	bodies := readAnswers(t, out)
	if len(bodies) != len(ids) {
		t.Fatalf("%d answers to %d requests", len(bodies), len(ids))
	}
	for i, id := range ids {
		want := `{"id":"` + id + `","model_name":"simple"`
		if id == "" {
			want = `{"model_name":"simple"`
		}
		if !strings.HasPrefix(bodies[i], want) {
			t.Errorf("answer %d starts %.60q, want %q", i, bodies[i], want)
		}
		if !strings.HasSuffix(bodies[i], strings.Repeat("\x02\x00\x00\x00", 16)+strings.Repeat("\x00", 64)) {
			t.Errorf("answer %d does not end in sum and difference", i)
		}
	}
	if n := len(s.kinds.byKey); n != 1 {
		t.Errorf("%d kinds are kept, want one for all ids", n)
	}
}

func TestWebRejectsGarbage(t *testing.T) {
	s := newServer(t)
	for _, in := range []string{"\r\n\r\n", "GET\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "POST / HTTP/1.1\r\nnonsense\r\n\r\n", strings.Repeat("a", maxHead+1)} {
		w := &webSession{server: s}
		if _, _, err := w.consume([]byte(in), nil); err == nil {
			t.Errorf("%.20q was accepted", in)
		}
	}
}

// rpcClient writes frames and reads the responses.
type rpcClient struct {
	buf   bytes.Buffer
	frame *http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

func newRPCClient() *rpcClient {
	c := &rpcClient{}
	c.frame = http2.NewFramer(&c.buf, nil)
	c.enc = hpack.NewEncoder(&c.block)
	c.buf.WriteString(http2.ClientPreface)
	return c
}

func (c *rpcClient) call(t testing.TB, stream uint32, path string, messages ...proto.Message) {
	t.Helper()
	c.block.Reset()
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":path", Value: path}, {Name: "te", Value: "trailers"}} {
		if err := c.enc.WriteField(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.frame.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	for i, m := range messages {
		body, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.frame.WriteData(stream, i == len(messages)-1, framed(body)); err != nil {
			t.Fatal(err)
		}
	}
}

func inferRequest(id string) *kserve.ModelInferRequest {
	data := bytes.Repeat([]byte{1, 0, 0, 0}, 16)
	in := func(name string) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1, 16}}
	}
	return &kserve.ModelInferRequest{
		ModelName: "simple", Id: id, Inputs: []*kserve.ModelInferRequest_InferInputTensor{in("INPUT0"), in("INPUT1")},
		RawInputContents: [][]byte{data, data},
	}
}

// answers decodes the data frames of each stream into messages, and the trailers.
func answers(t *testing.T, out []byte) (messages map[uint32][][]byte, trailers map[uint32]string) {
	t.Helper()
	messages, trailers = map[uint32][][]byte{}, map[uint32]string{}
	data := map[uint32][]byte{}
	framer := http2.NewFramer(io.Discard, bytes.NewReader(out))
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		f, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) {
			return messages, trailers
		}
		if err != nil {
			t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			data[f.StreamID] = append(data[f.StreamID], f.Data()...)
			for b := data[f.StreamID]; len(b) >= 5 && len(b) >= 5+int(binary.BigEndian.Uint32(b[1:])); b = data[f.StreamID] {
				n := binary.BigEndian.Uint32(b[1:])
				messages[f.StreamID] = append(messages[f.StreamID], bytes.Clone(b[5:5+n]))
				data[f.StreamID] = b[5+n:]
			}
		case *http2.MetaHeadersFrame:
			if f.StreamEnded() {
				for _, h := range f.Fields {
					if h.Name == "grpc-status" {
						trailers[f.StreamID] = h.Value
					}
				}
			}
		}
	}
}

func TestRPCAnswers(t *testing.T) {
	s := newServer(t)
	c := newRPCClient()
	for i := range 5 {
		c.call(t, uint32(2*i+1), inferPath, inferRequest(fmt.Sprint(i)))
	}
	c.call(t, 11, streamPath, inferRequest("a"), inferRequest("b"), inferRequest("c"))
	c.call(t, 13, "/inference.GRPCInferenceService/ModelMetadata", &kserve.ModelMetadataRequest{Name: "simple"})
	c.call(t, 15, "/inference.GRPCInferenceService/ModelMetadata", &kserve.ModelMetadataRequest{Name: "nope"})

	session := newRPCSession(s)
	var out, rest []byte
	for _, b := range c.buf.Bytes() { // one byte at a time: the session must keep what is not whole
		rest = append(rest, b)
		used, answer, err := session.consume(rest, out)
		if err != nil {
			t.Fatal(err)
		}
		out, rest = answer, rest[used:]
	}
	messages, trailers := answers(t, out)
	for i := range 5 {
		var m kserve.ModelInferResponse
		if err := proto.Unmarshal(messages[uint32(2*i+1)][0], &m); err != nil || m.GetId() != fmt.Sprint(i) || len(m.GetRawOutputContents()) != 2 {
			t.Errorf("call %d: %v, %v", i, err, &m)
		}
	}
	for i, id := range []string{"a", "b", "c"} {
		var m kserve.ModelStreamInferResponse
		if err := proto.Unmarshal(messages[11][i], &m); err != nil || m.GetInferResponse().GetId() != id {
			t.Errorf("stream answer %d: %v, %v", i, err, &m)
		}
	}
	var m kserve.ModelMetadataResponse
	if err := proto.Unmarshal(messages[13][0], &m); err != nil || len(m.GetInputs()) != 2 {
		t.Errorf("metadata: %v, %v", err, &m)
	}
	for id, want := range map[uint32]string{1: "0", 9: "0", 11: "0", 13: "0", 15: "5"} {
		if trailers[id] != want {
			t.Errorf("stream %d ended with grpc-status %q, want %q", id, trailers[id], want)
		}
	}
}

func TestRPCWaitsForRoom(t *testing.T) {
	s := newServer(t)
	c := newRPCClient()
	if err := c.frame.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}); err != nil {
		t.Fatal(err)
	}
	c.call(t, 1, inferPath, inferRequest("x"))
	session := newRPCSession(s)
	_, out, err := session.consume(c.buf.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, trailers := answers(t, out); len(trailers) != 0 {
		t.Fatal("the answer did not wait for room")
	}
	c.buf.Reset()
	if err := c.frame.WriteWindowUpdate(1, 1<<20); err != nil {
		t.Fatal(err)
	}
	_, out, err = session.consume(c.buf.Bytes(), out)
	if err != nil {
		t.Fatal(err)
	}
	if _, trailers := answers(t, out); trailers[1] != "0" {
		t.Fatal("the answer did not leave when there was room")
	}
}

func FuzzSessions(f *testing.F) {
	c := newRPCClient()
	c.call(f, 1, inferPath, inferRequest("x"))
	f.Add(c.buf.Bytes())
	f.Add(webRequest("1"))
	s := newServer(f)
	f.Fuzz(func(_ *testing.T, in []byte) {
		_, _, _ = (&webSession{server: s}).consume(in, nil)
		_, _, _ = newRPCSession(s).consume(in, nil)
	})
}

func BenchmarkWeb(b *testing.B) {
	w := &webSession{server: newServer(b)}
	in := webRequest("281474976710656")
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		if _, out, _ = w.consume(in, out[:0]); len(out) == 0 {
			b.Fatal("no answer")
		}
	}
}

func BenchmarkRPC(b *testing.B) {
	session := newRPCSession(newServer(b))
	c := newRPCClient()
	var out []byte
	id := uint32(1)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c.call(b, id, inferPath, inferRequest("281474976710656"))
		b.StartTimer()
		id += 2
		_, out, _ = session.consume(c.buf.Bytes(), out[:0])
		c.buf.Reset()
	}
}
