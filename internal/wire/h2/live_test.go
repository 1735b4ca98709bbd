package h2_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// peer is the server's end of a connection, on another implementation of the framing.
type peer struct {
	*http2.Framer
	t   testing.TB
	nc  net.Conn
	enc *hpack.Encoder
	hdr bytes.Buffer
}

// scriptedServer runs a script for each connection in turn; connections beyond the scripts are refused.
func scriptedServer(t testing.TB, scripts ...func(p *peer)) string {
	t.Helper()
	ln := testkit.Listen(t, "127.0.0.1:0")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, script := range scripts {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			runScript(t, nc, script)
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return ln.Addr().String()
}

func runScript(t testing.TB, nc net.Conn, script func(p *peer)) {
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(time.Now().Add(testkit.Limit))
	hello := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(nc, hello); err != nil || string(hello) != http2.ClientPreface {
		t.Errorf("preface %q, %v", hello, err)
		return
	}
	p := &peer{Framer: http2.NewFramer(nc, nc), t: t, nc: nc}
	p.SetMaxReadFrameSize(1 << 24)
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.enc = hpack.NewEncoder(&p.hdr)
	script(p)
}

// next reads frames until one is of interest: HEADERS, DATA, RST_STREAM, GOAWAY.
func (p *peer) next() http2.Frame {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return nil
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame, *http2.DataFrame, *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return f
		case *http2.PingFrame:
			if f.IsAck() {
				return f
			}
		}
	}
}

func (p *peer) headers(id uint32, end bool, pairs ...string) {
	p.hdr.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.hdr.Bytes(), EndHeaders: true, EndStream: end})
}

func (p *peer) answer(id uint32, text string) {
	p.headers(id, false, ":status", "200", "content-type", "application/grpc")
	_ = p.WriteData(id, false, append([]byte{0, 0, 0, 0, byte(len(text))}, text...))
	p.headers(id, true, "grpc-status", "0")
}

// request reads one whole request and returns its stream and body.
func (p *peer) request() (uint32, []byte) {
	var body []byte
	for {
		f := p.data()
		if f == nil {
			return 0, make([]byte, 5)
		}
		body = append(body, f.Data()...)
		if f.StreamEnded() {
			return f.StreamID, body
		}
	}
}

// data reads up to the next DATA frame; nil is the end of the connection.
func (p *peer) data() *http2.DataFrame {
	for {
		switch f := p.next().(type) {
		case nil:
			return nil
		case *http2.DataFrame:
			return f
		}
	}
}

func header(path string) *h2.Header {
	return h2.Request{Authority: "test", Path: path}.Header()
}

func wantKind(t *testing.T, err error, kind neterr.Kind) *neterr.Error {
	t.Helper()
	var e *neterr.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %v, want an error of kind %v", err, kind)
	}
	return e
}

func TestUnary(t *testing.T) {
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		for range 3 {
			h, ok := p.next().(*http2.MetaHeadersFrame)
			if !ok || h.PseudoValue("path") != "/a/B" || h.PseudoValue("method") != "POST" || h.PseudoValue("authority") != "test" {
				t.Errorf("headers are %v", h)
				return
			}
			_, body := p.request()
			p.answer(h.StreamID, string(body[5:]))
		}
		id, _ := p.request()
		p.headers(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "5", "grpc-message", "no%20model")
		p.next()
	})
	c := dialTest(t, addr)
	for range 3 {
		got, err := c.Unary(t.Context(), header("/a/B"), []byte("hello"))
		if err != nil || string(got) != "hello" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	_, err := c.Unary(t.Context(), header("/a/B"), []byte("hello"))
	var st *h2.StatusError
	if !errors.As(err, &st) || st.Code != 5 || st.Message != "no model" {
		t.Errorf("got %v, want status 5", err)
	}
}

func TestUnaryIsCanceledByItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings()
		id, _ := p.request()
		cancel(context.DeadlineExceeded) // as a deadline does
		if f, ok := p.next().(*http2.RSTStreamFrame); !ok || f.StreamID != id || f.ErrCode != http2.ErrCodeCancel {
			t.Errorf("got %v, want a reset of stream %d", f, id)
		}
		id, _ = p.request()
		p.answer(id, "after")
		p.next()
	})
	c := dialTest(t, addr)
	_, err := c.Unary(ctx, header("/a/B"), []byte("hello"))
	wantKind(t, err, neterr.Canceled)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the cause is lost: %v", err)
	}
	if got, err := c.Unary(t.Context(), header("/a/B"), nil); err != nil || string(got) != "after" {
		t.Errorf("the connection did not survive: %q, %v", got, err)
	}
}

func TestLargeMessageFollowsTheWindows(t *testing.T) {
	body := make([]byte, 300_000)
	for i := range body {
		body[i] = byte(i * 7)
	}
	f := func(name string, settings ...http2.Setting) {
		t.Run(name, func(t *testing.T) {
			addr := scriptedServer(t, func(p *peer) {
				_ = p.WriteSettings(settings...)
				var got []byte
				conn, stream, limit := 65535, 65535, 16384
				for _, s := range settings {
					switch s.ID {
					case http2.SettingInitialWindowSize:
						stream = int(s.Val)
					case http2.SettingMaxFrameSize:
						limit = int(s.Val)
					}
				}
				for {
					f := p.data()
					if f == nil {
						t.Error("the request did not end")
						return
					}
					n := len(f.Data())
					conn, stream = conn-n, stream-n
					if conn < 0 || stream < 0 || n > limit {
						t.Errorf("a frame of %d bytes overruns the limits", n)
					}
					got = append(got, f.Data()...)
					if f.StreamEnded() {
						if !bytes.Equal(got[5:], append(body, "tail"...)) {
							t.Error("the message is not the one that was sent")
						}
						p.answer(f.StreamID, "ok")
						p.next()
						return
					}
					if conn == 0 || stream == 0 {
						_ = p.WriteWindowUpdate(0, uint32(n))
						_ = p.WriteWindowUpdate(f.StreamID, uint32(n+1))
						conn, stream = conn+n, stream+n+1
					}
				}
			})
			c := dialTest(t, addr)
			r := &one{done: make(chan h2.End, 1)}
			r.stream.Bind(r)
			if err := c.Open(&r.stream, header("/a/B"), h2.Message{Body: body, Tail: []byte("tail"), Last: true}); err != nil {
				t.Fatal(err)
			}
			c.Flush()
			if end := <-r.done; end.Err != nil || end.Status != 0 || r.got != "ok" {
				t.Errorf("ended with %+v, %q", end, r.got)
			}
		})
	}
	f("defaults")
	f("small windows", http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_000})
	f("one window", http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	f("large frames", http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 18}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	f("no window", http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
}

// one is a handler of one exchange.
type one struct {
	stream h2.Stream
	got    string
	msgs   chan string
	done   chan h2.End
}

func (o *one) OnMessage(msg []byte, _ int64) {
	o.got = string(msg)
	if o.msgs != nil {
		o.msgs <- o.got
	}
}

func (o *one) OnEnd(end h2.End, _ int64) { o.done <- end }

func TestStreamsWaitForTheirTurn(t *testing.T) {
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		live := 0
		for i := range 6 {
			id, _ := p.request()
			if live++; live == 2 || i == 5 {
				for ; live > 0; live-- { // answer only when no more may come
					p.answer(id-2*uint32(live-1), "x")
				}
			}
		}
		p.next()
	})
	c := dialTest(t, addr)
	if n := c.MaxStreams(); n != 2 {
		t.Errorf("MaxStreams is %d, want 2", n)
	}
	done := make(chan h2.End, 6)
	for range 6 {
		o := &one{done: done}
		o.stream.Bind(o)
		if err := c.Open(&o.stream, header("/a/B"), h2.Message{Body: []byte("x"), Last: true}); err != nil {
			t.Fatal(err)
		}
	}
	c.Flush()
	for range 6 {
		if end := <-done; end.Err != nil {
			t.Error(end.Err)
		}
	}
}

func TestBidirectionalStream(t *testing.T) {
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings()
		first := true
		for {
			f := p.data()
			if f == nil {
				return
			}
			if first {
				p.headers(f.StreamID, false, ":status", "200", "content-type", "application/grpc")
				first = false
			}
			_ = p.WriteData(f.StreamID, false, f.Data())
			_ = p.WriteData(f.StreamID, false, f.Data())
			if f.StreamEnded() {
				p.headers(f.StreamID, true, "grpc-status", "0")
				p.next()
				return
			}
		}
	})
	c := dialTest(t, addr)
	o := &one{done: make(chan h2.End, 1), msgs: make(chan string, 10)}
	o.stream.Bind(o)
	if err := c.Open(&o.stream, header("/a/B"), h2.Message{Body: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	c.Flush()
	for _, text := range []string{"b", "c"} {
		if first, second := <-o.msgs, <-o.msgs; first != second {
			t.Errorf("got %q and %q", first, second)
		}
		if !c.Send(&o.stream, h2.Message{Body: []byte(text), Last: text == "c"}) {
			t.Fatal("the stream is closed")
		}
		c.Flush()
	}
	if end := <-o.done; end.Err != nil || o.got != "c" {
		t.Errorf("ended with %v after %q", end, o.got)
	}
	if c.Send(&o.stream, h2.Message{}) {
		t.Error("a stream that ended takes messages")
	}
}

func TestPingAndEarlyEnd(t *testing.T) {
	over := make(chan struct{}) // closing the connection too early would hide the reset
	addr := scriptedServer(t, func(p *peer) {
		defer close(over)
		_ = p.WriteSettings()
		_ = p.WritePing(false, [8]byte{1, 2, 3})
		h := p.next()
		if ping, ok := h.(*http2.PingFrame); ok {
			if ping.Data != [8]byte{1, 2, 3} {
				t.Errorf("ping came back as %v", ping.Data)
			}
			h = p.next()
		}
		// The answer comes before the request is complete: the rest must not be sent.
		id := h.Header().StreamID
		p.headers(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "8")
		for {
			f := p.next()
			if f == nil {
				t.Error("no reset came")
				return
			}
			if r, ok := f.(*http2.RSTStreamFrame); ok {
				if r.ErrCode != http2.ErrCodeNo {
					t.Errorf("reset with %v", r.ErrCode)
				}
				return
			}
		}
	})
	c := dialTest(t, addr)
	_, err := c.Unary(t.Context(), header("/a/B"), make([]byte, 1<<20))
	var st *h2.StatusError
	if !errors.As(err, &st) || st.Code != 8 {
		t.Errorf("got %v, want status 8", err)
	}
	<-over
}

func TestDialErrors(t *testing.T) {
	dial := func(addr string, conf *tls.Config) error {
		c, err := h2.Dial(t.Context(), h2.Config{Addr: addr, TLS: conf})
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	hurry := func(addr string) error {
		_, err := h2.Dial(t.Context(), h2.Config{Addr: addr, Wait: 50 * time.Millisecond})
		return err
	}
	raw := func(answer string) string {
		return testkit.Accept(t, func(nc net.Conn) {
			defer func() { _ = nc.Close() }()
			_, _ = io.ReadFull(nc, make([]byte, 24))
			_, _ = io.WriteString(nc, answer)
			_, _ = io.Copy(io.Discard, nc)
		})
	}
	wantKind(t, dial(testkit.Port(t), nil), neterr.Refused)
	wantKind(t, dial("127.0.0.1:99999", nil), neterr.Unreachable)
	wantKind(t, dial(raw("HTTP/1.1 400 Bad Request\r\n\r\n"), nil), neterr.NotHTTP)
	wantKind(t, dial(raw("220 mail.example ESMTP\r\n"), nil), neterr.NotHTTP)
	wantKind(t, hurry(raw("")), neterr.Timeout)
	wantKind(t, hurry(raw("junk")), neterr.Timeout)

	srv := quietTLS(t, false)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	wantKind(t, dial(srv.Listener.Addr().String(), &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), neterr.NotHTTP)

	two := quietTLS(t, true)
	wantKind(t, dial(two.Listener.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12}), neterr.Handshake)
}

// quietTLS is an HTTPS server that keeps failed handshakes to itself.
func quietTLS(t *testing.T, two bool) *httptest.Server {
	srv := httptest.NewUnstartedServer(nil)
	srv.EnableHTTP2 = two
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestDialEnds(t *testing.T) {
	addr := scriptedServer(t, func(*peer) {})
	_, err := h2.Dial(t.Context(), h2.Config{Addr: addr})
	wantKind(t, err, neterr.NotHTTP)
}

func TestConnectionLost(t *testing.T) {
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings()
		p.request()
	})
	c := dialTest(t, addr)
	_, err := c.Unary(t.Context(), header("/a/B"), []byte("x"))
	var e *neterr.Error
	if !errors.As(err, &e) || e.Kind != neterr.Closed && e.Kind != neterr.Reset {
		t.Errorf("got %v, want a lost connection", err)
	}
	if err := c.Open(&h2.Stream{}, header("/a/B"), h2.Message{}); err == nil {
		t.Error("a dead connection takes streams")
	}
}

func TestCloseEndsStreams(t *testing.T) {
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		p.request()
		p.next()
	})
	c := dialTest(t, addr)
	done := make(chan h2.End, 2)
	for range 2 { // one in flight, one waiting
		o := &one{done: done}
		o.stream.Bind(o)
		if err := c.Open(&o.stream, header("/a/B"), h2.Message{Last: true}); err != nil {
			t.Fatal(err)
		}
	}
	c.Flush()
	_ = c.Close()
	for range 2 {
		wantKind(t, (<-done).Err, neterr.Local)
	}
}

func TestCancelWaitingStream(t *testing.T) {
	canceled := make(chan struct{})
	addr := scriptedServer(t, func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		id, _ := p.request()
		<-canceled
		p.answer(id, "x")
		if f := p.next(); f != nil {
			t.Errorf("the server was told of a stream that never began: %v", f)
		}
	})
	c := dialTest(t, addr)
	first, second := &one{done: make(chan h2.End, 1)}, &one{done: make(chan h2.End, 1)}
	for _, o := range []*one{first, second} {
		o.stream.Bind(o)
		if err := c.Open(&o.stream, header("/a/B"), h2.Message{Last: true}); err != nil {
			t.Fatal(err)
		}
	}
	c.Flush()
	c.Cancel(&second.stream, errors.New("enough"))
	end := <-second.done
	close(canceled)
	wantKind(t, end.Err, neterr.Canceled)
	if end := <-first.done; end.Err != nil {
		t.Error(end.Err)
	}
}
