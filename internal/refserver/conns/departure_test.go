package conns

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// wire writes frames as a server does.
type wire struct {
	bytes.Buffer
	framer *http2.Framer
	block  bytes.Buffer
	pack   *hpack.Encoder
}

func newWire(t *testing.T) *wire {
	t.Helper()
	w := &wire{}
	w.framer = http2.NewFramer(w, nil)
	w.pack = hpack.NewEncoder(&w.block)
	check(t, w.framer.WriteSettings())
	return w
}

func (w *wire) head(t *testing.T, id uint32, fields ...string) {
	t.Helper()
	w.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		check(t, w.pack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	half := w.block.Len() / 2
	check(t, w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: w.block.Bytes()[:half]}))
	check(t, w.framer.WriteContinuation(id, true, w.block.Bytes()[half:]))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type nowhere struct{ net.Conn }

func (nowhere) RemoteAddr() net.Addr { return &net.TCPAddr{Port: 7} }
func (nowhere) Close() error         { return nil }

// When bytes and messages leave is known however the writes are cut.
func TestStreamsAreFollowed(t *testing.T) {
	for _, step := range []int{1, 2, 7, 64, 1 << 20} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			b := New(true)
			c := newConn(nowhere{}, b)
			b.conns[c.key] = c
			plain, rpc, cut := b.Stream(":7"), b.Stream(":7"), b.Stream(":7")
			var got []string
			note := func(s *Stream, name string, end int64) {
				s.When(end, func(at int64) { got = append(got, fmt.Sprintf("%s %d at %d", name, end, at)) })
			}
			note(plain, "bytes", 10)
			note(plain, "bytes", 15)
			note(rpc, "messages", 1)
			note(rpc, "messages", 2)
			note(cut, "cut", 1)
			note(cut, "cut", 2)

			w := newWire(t)
			w.head(t, 1, ":status", "200", "content-type", "text/event-stream", Header, plain.Key)
			w.head(t, 3, ":status", "200", "content-type", "application/grpc+proto", Header, rpc.Key)
			w.head(t, 5, ":status", "200", Header, cut.Key)
			w.head(t, 7, ":status", "200")
			check(t, w.framer.WritePing(false, [8]byte{}))
			check(t, w.framer.WriteData(1, false, make([]byte, 10)))
			first := w.Len()
			check(t, w.framer.WriteData(7, true, make([]byte, 999)))
			check(t, w.framer.WriteData(3, false, []byte("\x00\x00\x00\x00\x03abc\x01\x00\x00")))
			second := w.Len()
			check(t, w.framer.WriteData(3, false, []byte("\x00\x02xy")))
			check(t, w.framer.WriteData(1, true, make([]byte, 5)))
			check(t, w.framer.WriteData(5, false, make([]byte, 1)))
			check(t, w.framer.WriteRSTStream(5, http2.ErrCodeInternal))

			rest := w.Bytes()
			for i, end := range []int{first, second, len(rest)} {
				for from := []int{0, first, second}[i]; from < end; from += step {
					c.follow(rest[from:min(from+step, end)], int64(100*(i+1)))
				}
			}
			want := "bytes 10 at 100, messages 1 at 200, messages 2 at 300, bytes 15 at 300, cut 1 at 300, cut 2 at 0"
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("%s, want %s", s, want)
			}
			late := int64(-1)
			if plain.When(15, func(at int64) { late = at }); late != 300 {
				t.Errorf("what had left already: %d", late)
			}
			if len(c.streams) != 1 || len(c.coming) != 0 { // that of gRPC stays open
				t.Errorf("%d streams, %d to come", len(c.streams), len(c.coming))
			}
			open := int64(-1)
			rpc.When(9, func(at int64) { open = at })
			check(t, c.Close())
			if open != 0 || b.Stream(":7") != nil {
				t.Errorf("after the end: %d, %v", open, b.Stream(":7"))
			}
		})
	}
}

// A connection that is not of HTTP/2 is not followed.
func TestOtherProtocols(t *testing.T) {
	for _, text := range []string{"HTTP/1.1 200 OK\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03"} {
		b := New(true)
		c := newConn(nowhere{}, b)
		b.conns[c.key] = c
		s := b.Stream(":7")
		at := int64(-1)
		s.When(1, func(v int64) { at = v })
		if c.follow([]byte(text), 1); at != 0 || b.Stream(":7") != nil {
			t.Errorf("%q: %d, %v", text, at, b.Stream(":7"))
		}
	}
	b := New(false)
	c := newConn(nowhere{}, b)
	b.conns[c.key] = c
	if b.Stream(":7") != nil || b.Conn(":7") == nil {
		t.Error("a board that does not follow connections has a stream, or does not know its connection")
	}
}

// Go's own server: what a handler flushes leaves after that, and before the client has it.
func TestBehindAServer(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	b := New(true)
	var flushed int64
	left := make(chan int64, 1)
	srv := &http.Server{Protocols: &http.Protocols{}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := b.Request(r)
		if s == nil {
			left <- -1
			return
		}
		w.Header().Set(Header, s.Key)
		flushed = time.Now().UnixNano()
		s.When(5, func(at int64) { left <- at })
		_, _ = io.WriteString(w, "hello")
		_ = http.NewResponseController(w).Flush()
	})}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = srv.Serve(b.Listener(l)) }()
	defer srv.Close()
	get := func(p func(*http.Protocols)) {
		t.Helper()
		tr := &http.Transport{Protocols: &http.Protocols{}}
		p(tr.Protocols)
		defer tr.CloseIdleConnections()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+l.Addr().String(), http.NoBody)
		check(t, err)
		resp, err := tr.RoundTrip(req)
		check(t, err)
		_, err = io.ReadAll(resp.Body)
		check(t, err)
		check(t, resp.Body.Close())
	}
	get(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
	if at, now := <-left, time.Now().UnixNano(); at < flushed || at > now {
		t.Errorf("flushed at %d, left at %d, read before %d", flushed, at, now)
	}
	get(func(p *http.Protocols) { p.SetHTTP1(true) })
	if at := <-left; at != -1 {
		t.Error("HTTP/1.1 is followed")
	}
}
