package h2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// scripted is a connection whose server has already said everything, in the given pieces.
type scripted struct {
	net.Conn
	mu     sync.Mutex
	pieces [][]byte
	sent   bytes.Buffer
	end    error
}

func (s *scripted) Read(p []byte) (int, error) {
	for len(s.pieces) > 0 && len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	if len(s.pieces) == 0 {
		return 0, s.end
	}
	n := copy(p, s.pieces[0])
	s.pieces[0] = s.pieces[0][n:]
	return n, nil
}

func (s *scripted) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.Write(p)
}

func (s *scripted) Close() error                     { return nil }
func (s *scripted) SetDeadline(time.Time) error      { return nil }
func (s *scripted) SetReadDeadline(time.Time) error  { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }

// log is a handler that writes down what happens.
type log struct {
	stream Stream
	events []string
	ends   int
}

func (l *log) OnMessage(msg []byte, _ int64) {
	l.events = append(l.events, fmt.Sprintf("message %.20q", msg))
}

func (l *log) OnEnd(end End, _ int64) {
	l.ends++
	if end.Err == nil {
		l.events = append(l.events, fmt.Sprintf("status %d %q", end.Status, end.Message))
		return
	}
	e, _ := errors.AsType[*neterr.Error](end.Err)
	l.events = append(l.events, fmt.Sprintf("%v: %s", e.Kind, e.Text))
}

// play runs a connection with three open streams against what the server says, and returns what each saw.
func play(t testing.TB, pieces ...[]byte) (logs [3]*log, err error) {
	t.Helper()
	nc := &scripted{pieces: pieces, end: io.EOF}
	c := newConn(Config{MaxMessage: 1 << 20}, nc)
	c.in.settled = true
	h := Request{Path: "/a/B", Authority: "x"}.Header()
	for i := range logs {
		logs[i] = &log{}
		logs[i].stream.Bind(logs[i])
		if err := c.Open(&logs[i].stream, h, Message{Body: []byte("hi"), Last: true}); err != nil {
			t.Fatal(err)
		}
	}
	err = c.Serve()
	for i, l := range logs {
		if l.ends != 1 {
			t.Fatalf("stream %d ended %d times: %q", i, l.ends, l.events)
		}
	}
	return logs, err
}

// server builds what a server says.
type server struct {
	bytes.Buffer
	enc *hpack.Encoder
}

func newServer() *server { return &server{enc: hpack.NewEncoder()} }

func (s *server) frame(typ, flags byte, id uint32, p []byte) *server {
	s.Write(appendFrameHeader(nil, len(p), typ, flags, id))
	s.Write(p)
	return s
}

func (s *server) headers(id uint32, flags byte, pairs ...string) *server {
	return s.frame(frameHeaders, flags|flagEndHeaders, id, s.block(pairs...))
}

func (s *server) block(pairs ...string) []byte {
	var fields []hpack.Field
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, hpack.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	return s.enc.Append(nil, fields)
}

func (s *server) ok(id uint32) *server {
	return s.headers(id, 0, ":status", "200", "content-type", "application/grpc")
}

func (s *server) message(id uint32, text string) *server {
	return s.frame(frameData, 0, id, prefixed(0, text))
}

func (s *server) trailers(id uint32, status string) *server {
	return s.headers(id, flagEndStream, "grpc-status", status)
}

func prefixed(flag byte, text string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(text)))
	return append(b, text...)
}

func u32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// session is a session with most of what a good server may do. n is the size of its long message.
func session(n int) []byte {
	s := newServer()
	s.frame(framePing, 0, 0, []byte("12345678"))
	s.ok(1).message(1, "one").trailers(1, "0")
	s.headers(3, 0, ":status", "103", "link", "x")
	s.ok(3)
	whole := append(prefixed(0, strings.Repeat("ab", n/2)), prefixed(0, "")...)
	s.frame(frameData, 0, 3, whole[:3]).frame(frameData, 0, 3, nil).frame(frameData, 0, 3, whole[3:n/4])
	s.frame(frameData, flagPadded, 3, append(append([]byte{7}, whole[n/4:n/2]...), make([]byte, 7)...))
	s.frame(frameData, 0, 3, whole[n/2:])
	s.frame(frameWindow, 0, 0, u32(100)).frame(frameWindow, 0, 3, u32(100)).frame(0x77, 0xff, 3, []byte("unknown"))
	s.frame(framePriority, 0, 3, make([]byte, 5))
	block := s.block("grpc-status", "5", "grpc-message", "no%20such model%3a%zz", "x-more", strings.Repeat("y", 100))
	s.frame(frameHeaders, flagEndStream, 3, block[:2])
	s.frame(frameContinuation, 0, 3, block[2:30])
	s.frame(frameContinuation, flagEndHeaders, 3, block[30:])
	only := s.block(":status", "200", "content-type", "application/grpc+proto", "grpc-status", "13", "grpc-message", "broken")
	p := append([]byte{2, 0, 0, 0, 0, 9}, only...)
	s.frame(frameHeaders, flagEndStream|flagEndHeaders|flagPriority|flagPadded, 5, append(p, 0, 0))
	s.frame(frameReset, 0, 5, u32(codeNo)) // after the end: nothing
	return s.Bytes()
}

func TestSessionSplitAnywhere(t *testing.T) {
	all := session(80000)
	short := session(2000)
	want := [3][]string{
		{`message "one"`, `status 0 ""`},
		{`message "abababababababababab"`, `message ""`, `status 5 "no such model:%zz"`},
		{`status 13 "broken"`},
	}
	check := func(name string, pieces ...[]byte) {
		t.Helper()
		logs, _ := play(t, pieces...)
		for i, l := range logs {
			if diff := cmp.Diff(want[i], l.events); diff != "" {
				t.Fatalf("%s: stream %d: %s", name, i, diff)
			}
		}
	}
	clone := func(b []byte) []byte { return append([]byte(nil), b...) }
	check("whole", clone(all))
	single := make([][]byte, len(all))
	for i := range all {
		single[i] = clone(all[i : i+1])
	}
	check("byte by byte", single...)
	for i := range short {
		check(fmt.Sprintf("split at %d", i), clone(short[:i]), clone(short[i:]))
	}
	for i := 0; i < len(all); i += 1009 {
		check(fmt.Sprintf("split at %d", i), clone(all[:i]), clone(all[i:]))
	}
}

func TestStreamFaults(t *testing.T) {
	f := func(name string, s *server, want ...string) {
		t.Helper()
		s.ok(3).message(3, "two").trailers(3, "0")
		logs, _ := play(t, s.Bytes())
		if diff := cmp.Diff(want, logs[0].events); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff([]string{`message "two"`, `status 0 ""`}, logs[1].events); diff != "" {
			t.Errorf("%s: the next stream suffered: %s", name, diff)
		}
	}
	f("data before headers", newServer().message(1, "x"), "protocol error: DATA came before HEADERS")
	f("no trailers", newServer().ok(1).frame(frameData, flagEndStream, 1, prefixed(0, "x")),
		`message "x"`, "protocol error: the answer ended without a gRPC status")
	f("trailers without status", newServer().ok(1).message(1, "x").headers(1, flagEndStream, "x", "y"),
		`message "x"`, "protocol error: the answer ended without a gRPC status")
	f("bad status", newServer().ok(1).trailers(1, "0x"), "protocol error: the answer holds a malformed grpc-status")
	f("ends in a message", newServer().ok(1).frame(frameData, 0, 1, []byte{0, 0, 0, 0, 9, 1}).trailers(1, "0"),
		"protocol error: the answer ended inside a message")
	f("ends in a prefix", newServer().ok(1).frame(frameData, 0, 1, []byte{0, 0}).trailers(1, "0"),
		"protocol error: the answer ended inside a message")
	f("http status", newServer().headers(1, flagEndStream, ":status", "503"),
		"http status: the server answered with HTTP status 503 instead of a gRPC status")
	f("http status with a body", newServer().headers(1, 0, ":status", "404", "content-type", "text/html").frame(frameData, flagEndStream, 1, []byte("<html>")),
		"http status: the server answered with HTTP status 404 instead of a gRPC status")
	f("content type", newServer().headers(1, 0, ":status", "200", "content-type", "text/html").frame(frameData, flagEndStream, 1, []byte("<html>")),
		`protocol error: the answer's content type is "text/html", want application/grpc`)
	f("content type prefix", newServer().headers(1, 0, ":status", "200", "content-type", "application/grpcweb"),
		`protocol error: the answer's content type is "application/grpcweb", want application/grpc`)
	f("no :status", newServer().headers(1, 0, "content-type", "application/grpc"), "protocol error: the answer has no :status")
	f("late :status", newServer().headers(1, 0, "content-type", "application/grpc", ":status", "200"),
		"protocol error: the answer holds a misplaced or malformed :status")
	f("bad :status", newServer().headers(1, 0, ":status", "2x0"), "protocol error: the answer holds a malformed :status")
	f("pseudo header", newServer().headers(1, 0, ":status", "200", ":path", "/"), `protocol error: the answer holds the unknown pseudo header ":path"`)
	f("upper case", newServer().headers(1, 0, ":status", "200", "X-Y", "z"), `protocol error: the answer holds the header name "X-Y"`)
	f("http/1 field", newServer().headers(1, 0, ":status", "200", "connection", "close"), `protocol error: the answer holds a header field of HTTP/1: connection`)
	f("second headers", newServer().ok(1).headers(1, 0, "a", "b"), "protocol error: a second header block does not end the stream")
	f(":status in trailers", newServer().ok(1).headers(1, flagEndStream, ":status", "200", "grpc-status", "0"), "protocol error: the trailers hold a :status")
	f("reset", newServer().ok(1).frame(frameReset, 0, 1, u32(codeRefused)), "stream reset: the server reset the stream: REFUSED_STREAM")
	f("reset with an unknown code", newServer().frame(frameReset, 0, 1, u32(99)), "stream reset: the server reset the stream: code 99")
	f("window of nothing", newServer().frame(frameWindow, 0, 1, u32(0)), "protocol error: a WINDOW_UPDATE adds nothing")
	f("window overflow", newServer().frame(frameWindow, 0, 1, u32(maxWindow)), "protocol error: the stream's window grows too large")
	f("compressed without encoding", newServer().ok(1).frame(frameData, 0, 1, prefixed(1, "x")),
		"protocol error: a message is compressed, but no grpc-encoding was named")
	f("bad message flag", newServer().ok(1).frame(frameData, 0, 1, prefixed(2, "x")), "protocol error: a message begins with byte 2, want 0 or 1")
	f("message too large", newServer().ok(1).frame(frameData, 0, 1, []byte{0, 0xff, 0, 0, 0}),
		"too large: a message of 4278190080 bytes is larger than the limit of 1048576")
	f("unknown encoding", newServer().headers(1, 0, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "br"),
		"protocol error: the answer's grpc-encoding is not one of those offered")
	f("bad gzip", newServer().headers(1, 0, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip").frame(frameData, 0, 1, prefixed(1, "not gzip")),
		"protocol error: a message does not unpack: unexpected EOF")
}

func TestConnFaults(t *testing.T) {
	f := func(name string, s *server, kind neterr.Kind, want string) {
		t.Helper()
		logs, err := play(t, s.Bytes())
		e, ok := errors.AsType[*neterr.Error](err)
		if !ok || e.Kind != kind || e.Text != want {
			t.Errorf("%s: the connection ended with %v, want %v: %s", name, err, kind, want)
		}
		for i, l := range logs {
			if len(l.events) != 1 || !strings.HasPrefix(l.events[0], kind.String()+": ") {
				t.Errorf("%s: stream %d saw %q", name, i, l.events)
			}
		}
	}
	f("end", newServer(), neterr.Closed, "the server closed the connection")
	f("truncated", newServer().frame(framePing, 0, 0, []byte("1234567")[:0]), neterr.Malformed, "a PING frame has 0 bytes")
	f("frame size", newServer().frame(frameSettings, 0, 0, make([]byte, 7)), neterr.Malformed, "a SETTINGS frame has 7 bytes")
	f("settings ack", newServer().frame(frameSettings, flagAck, 0, make([]byte, 6)), neterr.Malformed, "a SETTINGS acknowledgment has a payload")
	f("window setting", newServer().frame(frameSettings, 0, 0, []byte{0, 4, 0xff, 0xff, 0xff, 0xff}), neterr.Malformed, "a window of 4294967295 bytes is too large")
	f("frame size setting", newServer().frame(frameSettings, 0, 0, []byte{0, 5, 0, 0, 0, 1}), neterr.Malformed, "a frame size of 1 bytes is not allowed")
	f("push", newServer().frame(framePush, flagEndHeaders, 1, make([]byte, 4)), neterr.Malformed, "the server pushes, which was forbidden")
	f("unknown stream", newServer().ok(9), neterr.Malformed, "a frame for stream 9, which was never opened")
	f("even stream", newServer().ok(2), neterr.Malformed, "a frame for stream 2, which was never opened")
	f("stream zero", newServer().ok(0), neterr.Malformed, "a frame of type 1 lacks its stream")
	f("settings on a stream", newServer().frame(frameSettings, 0, 1, nil), neterr.Malformed, "a frame of type 4 has a stream")
	f("interrupted block", newServer().frame(frameHeaders, 0, 1, nil).frame(framePing, 0, 0, make([]byte, 8)), neterr.Malformed, "a frame of type 6 interrupts a header block")
	f("stray continuation", newServer().frame(frameContinuation, flagEndHeaders, 1, nil), neterr.Malformed, "a CONTINUATION continues nothing")
	f("bad block", newServer().frame(frameHeaders, flagEndHeaders, 1, []byte{0xff}), neterr.Malformed, "header compression")
	f("padding", newServer().frame(frameHeaders, flagEndHeaders|flagPadded, 1, []byte{9, 1}), neterr.Malformed, "padding is longer than its frame")
	f("data padding", newServer().frame(frameData, flagPadded, 1, []byte{9, 1}), neterr.Malformed, "padding is longer than its frame")
	f("window overflow", newServer().frame(frameWindow, 0, 0, u32(maxWindow)), neterr.Malformed, "the connection's window grows too large")
	f("window of nothing", newServer().frame(frameWindow, 0, 0, u32(0)), neterr.Malformed, "a WINDOW_UPDATE adds nothing")
	f("go away", newServer().frame(frameGoAway, 0, 0, make([]byte, 7)), neterr.Malformed, "a GOAWAY frame has 7 bytes")
	s := newServer()
	s.Write(appendFrameHeader(nil, ourFrameSize+1, frameData, 0, 1))
	f("large frame", s, neterr.Malformed, "a frame of 1048577 bytes is larger than allowed")
}

func TestGoAway(t *testing.T) {
	s := newServer().frame(frameGoAway, 0, 0, append(u32(3), u32(codeNo)...))
	s.ok(1).message(1, "one").trailers(1, "0").ok(3).message(3, "two").trailers(3, "0")
	logs, err := play(t, s.Bytes())
	if err != nil {
		t.Errorf("a connection that was left in good order ended with %v", err)
	}
	want := [3][]string{{`message "one"`, `status 0 ""`}, {`message "two"`, `status 0 ""`}, {"go away: the server asked to leave the connection"}}
	for i, l := range logs {
		if diff := cmp.Diff(want[i], l.events); diff != "" {
			t.Errorf("stream %d: %s", i, diff)
		}
	}
}

func TestCompressedAnswers(t *testing.T) {
	for _, name := range []string{"gzip", "deflate"} {
		text := strings.Repeat("tensor", 1000)
		p, err := zip.Pack(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		msg := prefixed(1, string(p.Tail(p.Body, []byte("tail"))))
		s := newServer().headers(1, 0, ":status", "200", "content-type", "application/grpc", "grpc-encoding", name)
		s.frame(frameData, 0, 1, append(msg, prefixed(0, "plain")...)).trailers(1, "0")
		logs, _ := play(t, s.Bytes())
		if diff := cmp.Diff([]string{`message "tensortensortensorte"`, `message "plain"`, `status 0 ""`}, logs[0].events); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzFeed(f *testing.F) {
	f.Add(session(60), uint16(7))
	f.Add(newServer().frame(frameGoAway, 0, 0, append(u32(1), u32(2)...)).ok(1).Bytes(), uint16(1))
	f.Add(newServer().frame(frameSettings, 0, 0, []byte{0, 4, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0}).Bytes(), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, step uint16) {
		whole, err1 := play(t, append([]byte(nil), data...))
		var pieces [][]byte
		for b := append([]byte(nil), data...); len(b) > 0; {
			n := min(len(b), int(step)+1)
			pieces = append(pieces, b[:n:n])
			b = b[n:]
		}
		split, err2 := play(t, pieces...)
		// A connection that was left in good order may have ended before the last bytes came.
		if err1 != nil && err2 != nil && err1.Error() != err2.Error() {
			t.Errorf("whole %v, split %v", err1, err2)
		}
		for i := range whole {
			if diff := cmp.Diff(whole[i].events, split[i].events); diff != "" {
				t.Errorf("stream %d: %s", i, diff)
			}
		}
	})
}

func TestStreamIDsRunOut(t *testing.T) {
	drained := make(chan struct{})
	c := newConn(Config{OnDrain: func() { close(drained) }}, &scripted{end: io.EOF})
	c.nextID = maxStreamID - 2
	h := Request{Path: "/a/B", Authority: "x"}.Header()
	logs := [3]*log{}
	for i := range logs {
		logs[i] = &log{}
		logs[i].stream.Bind(logs[i])
		err := c.Open(&logs[i].stream, h, Message{Last: true})
		if (err == nil) != (i < 2) || i == 2 && !errors.Is(err, ErrDraining) {
			t.Errorf("stream %d: %v", i, err)
		}
	}
	<-drained
}

func TestTableFindsOldStreams(t *testing.T) {
	var tab table
	live := map[uint32]*Stream{}
	add := func(id uint32) {
		s := &Stream{id: id}
		live[id] = s
		tab.put(s)
	}
	add(1) // stays while thousands come and go
	for id := uint32(3); id < 20_000; id += 2 {
		add(id)
		if old := id - 2*(id%300); old > 1 && live[old] != nil {
			tab.remove(live[old])
			delete(live, old)
		}
	}
	if tab.live != len(live) || len(tab.all()) != len(live) {
		t.Errorf("the table has %d streams, want %d", tab.live, len(live))
	}
	for id := uint32(1); id < 20_000; id += 2 {
		if tab.get(id) != live[id] {
			t.Fatalf("stream %d: got %v, want %v", id, tab.get(id), live[id])
		}
	}
}
