package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2/hpack"
)

const (
	// mostMore is how much more memory a run may take than one that is answered as it should be.
	mostMore = 200 << 20
	// mostOutput is how much a run may print.
	mostOutput = 64 << 10
	limit      = "16777216"
)

// run is what a command has printed, and the most memory that it took.
type run struct {
	out    string
	memory int64
}

func measured(t *testing.T, args ...string) run {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "redline"), args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%v: %v\n%.2000s", args, err, out)
	}
	return run{string(out), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10}
}

// TestHostileServersCannotTakeMemory loads servers that send without end, send decompression bombs, or send frames that need replies
// without reading them. Each request must fail with the reason, and the memory of the run must stay bounded.
func TestHostileServersCannotTakeMemory(t *testing.T) {
	srv, err := startServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	bomb := zeros(1 << 30)
	profile := func(protocol, addr string) []string {
		return []string{
			"profile", "-m", "simple", "-i", protocol, "-u", addr, "--concurrency-range", "2", "--request-count", "4",
			"--request-timeout", "20s", "--max-response-bytes", limit,
		}
	}
	llm := func(addr string, more ...string) []string {
		return append([]string{
			"llm", "-u", addr, "-m", "m", "--request-count", "2", "--concurrency", "2", "--request-timeout-seconds", "20", "--max-response-bytes", limit,
		}, more...)
	}
	idle := measured(t, profile("grpc", srv.GRPC)...)
	if !strings.Contains(idle.out, "Verdict: ") {
		t.Fatalf("an honest server:\n%s", idle.out)
	}
	const tooLarge = "raise --max-response-bytes"
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"PING frames", profile("grpc", behind(t, srv.GRPC, flood(frame(6, 0, 0, make([]byte, 8))))), "does not read the answers"},
		{"SETTINGS frames", profile("grpc", behind(t, srv.GRPC, flood(frame(4, 0, 0, nil)))), "does not read the answers"},
		{"a packed gRPC message", profile("grpc", behind(t, srv.GRPC, packed(bomb))), "unpacks to more than " + limit + " bytes; " + tooLarge},
		{"an error of 5 MB", profile("http", complaining(t, srv.HTTP, 5<<20)), "5242880 bytes in all"},
		{"a packed body", llm(answering(t, "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: "+fmt.Sprint(len(bomb)), bomb, false)), tooLarge},
		{"a packed stream", llm(answering(t, "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: "+fmt.Sprint(len(bomb)), bomb, false), "--streaming"), tooLarge},
		{"an endless body", llm(answering(t, "Content-Type: application/json\r\nTransfer-Encoding: chunked", chunk(bytes.Repeat([]byte("x"), 64<<10)), true)), tooLarge},
		{"an endless event", llm(answering(t, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", chunk(bytes.Repeat([]byte("x"), 64<<10)), true), "--streaming"), tooLarge},
		{"endless tokens", llm(answering(t, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", chunk(bytes.Repeat([]byte(token), 100)), true), "--streaming"), tooLarge},
	} {
		t.Run(c.name, func(t *testing.T) { bounded(t, idle.memory, c.args, c.want) })
	}
}

// bounded makes a run against a hostile server. The run must print a short error and use little more memory than a normal run.
func bounded(t *testing.T, idle int64, args []string, want string) {
	t.Helper()
	got := measured(t, args...)
	if !strings.Contains(got.out, want) || len(got.out) > mostOutput {
		t.Errorf("no %q in %d bytes of output:\n%.4000s", want, len(got.out), got.out)
	}
	more := got.memory - idle
	t.Logf("%d MiB more than a run that is answered", more>>20)
	if more > mostMore {
		t.Errorf("that is above %d MiB", mostMore>>20)
	}
}

// TestManyHostileConnectionsCannotTakeMemory has 16 connections with endless responses, with the default limits. A limit on each
// response alone would let all of them together use gigabytes.
func TestManyHostileConnectionsCannotTakeMemory(t *testing.T) {
	srv, err := startServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	const many = "16"
	profile := func(protocol, addr string, more ...string) []string {
		return append([]string{
			"profile", "-m", "simple", "-i", protocol, "-u", addr, "--concurrency-range", many, "--request-count", many, "--request-timeout", "20s",
		}, more...)
	}
	llm := func(addr string, more ...string) []string {
		return append([]string{"llm", "-u", addr, "-m", "m", "--request-count", many, "--concurrency", many, "--request-timeout-seconds", "20"}, more...)
	}
	idle := measured(t, profile("grpc", srv.GRPC)...)
	piece := chunk(bytes.Repeat([]byte("x"), 64<<10))
	const together = "the responses in flight take more than"
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"HTTP/1.1", profile("http", endlessInfer(t, srv.HTTP)), together},
		{"gRPC", profile("grpc", behind(t, srv.GRPC, largeMessages(t)), "--connections", "16"), together},
		{"gRPC stream", profile("grpc", behind(t, srv.GRPC, largeMessages(t)), "--connections", "16", "--streaming"), together},
		{"packed gRPC messages", profile("grpc", behind(t, srv.GRPC, packed(zeros(24<<20))), "--connections", "16"), together},
		{"llm, bodies", llm(answering(t, "Content-Type: application/json\r\nTransfer-Encoding: chunked", piece, true)), together},
		{"llm, events", llm(answering(t, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", piece, true), "--streaming"), "raise --max-response-bytes"},
		{"llm, tokens", llm(answering(t, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", chunk(bytes.Repeat([]byte(token), 1000)), true), "--streaming"), "raise --max-response-bytes"},
	} {
		t.Run(c.name, func(t *testing.T) { bounded(t, idle.memory, c.args, c.want) })
	}
}

const token = `data: {"choices":[{"index":0,"delta":{"content":"a "}}]}` + "\n\n"

// zeros is so many zeros, packed.
func zeros(n int64) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level exists
	buf := make([]byte, 1<<20)
	for ; n > 0; n -= int64(len(buf)) {
		_, _ = w.Write(buf)
	}
	_ = w.Close()
	return b.Bytes()
}

func chunk(b []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(b), b) }

// answering reads a request and answers it with a head and a body, which may be repeated without end.
func answering(t *testing.T, head string, body []byte, endless bool) string {
	return testkit.Accept(t, func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, 64<<10)
		for {
			if _, err := c.Read(buf); err != nil { // a request is smaller
				return
			}
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n\r\n"); err != nil {
				return
			}
			for again := true; again; again = endless {
				if _, err := c.Write(body); err != nil {
					return
				}
			}
		}
	})
}

// complaining forwards requests to a server, and responds to inferences with an error of n bytes.
func complaining(t *testing.T, addr string, n int) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	text := strings.Repeat("x", n)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/infer") {
			proxy.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"error":%q}`, text)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// endlessInfer forwards requests to a server, and responds to inferences without end.
func endlessInfer(t *testing.T, addr string) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	piece := bytes.Repeat([]byte("x"), 64<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/infer") {
			proxy.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// largeMessages is a gRPC server that answers each request of a connection with a message of 24 MiB, which is below the limit
// on one response.
func largeMessages(t *testing.T) func(net.Conn) {
	msg := rawMessage(make([]byte, 24<<20))
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		for {
			var req rawMessage
			if err := stream.RecvMsg(&req); err != nil {
				return err
			}
			if err := stream.SendMsg(&msg); err != nil {
				return err
			}
		}
	}))
	ln := &handed{conns: make(chan net.Conn), closed: make(chan struct{})}
	testkit.ServeGRPC(t, s, ln)
	return func(c net.Conn) {
		ended := make(chan struct{})
		select {
		case ln.conns <- watchedConn{c, sync.OnceFunc(func() { close(ended) })}:
			<-ended
		case <-ln.closed:
		}
	}
}

// rawMessage is a message as it stands on the wire; rawCodec passes it on without a copy.
type rawMessage []byte

type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*rawMessage))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*rawMessage) = data.Materialize()
	return nil
}

// handed is a listener of connections that are handed over.
type handed struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *handed) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

func (h *handed) Addr() net.Addr { return &net.TCPAddr{} }

// watchedConn tells when it is closed.
type watchedConn struct {
	net.Conn
	closed func()
}

func (c watchedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// behind forwards the first connection, which requests the model, and passes the others, which carry the load, to talk.
func behind(t *testing.T, addr string, talk func(net.Conn)) string {
	var n atomic.Int64
	return testkit.Accept(t, func(c net.Conn) {
		defer c.Close()
		if n.Add(1) > 1 {
			talk(c)
			return
		}
		to, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(c, to); c.Close() }()
		_, _ = io.Copy(to, c)
	})
}

// frame is a frame of HTTP/2.
func frame(typ, flags byte, stream uint32, p []byte) []byte {
	b := []byte{byte(len(p) >> 16), byte(len(p) >> 8), byte(len(p)), typ, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), p...)
}

// flood sends a frame repeatedly, and reads nothing.
func flood(f []byte) func(net.Conn) {
	return func(c net.Conn) {
		many := append(frame(4, 0, 0, nil), bytes.Repeat(f, 1000)...)
		for {
			if _, err := c.Write(many); err != nil {
				return
			}
		}
	}
}

// packed responds to the first call of each connection with a compressed message.
func packed(msg []byte) func(net.Conn) {
	return func(c net.Conn) {
		enc := hpack.NewEncoder()
		head := enc.Append(nil, []hpack.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}, {Name: "grpc-encoding", Value: "gzip"}})
		out := append(frame(4, 0, 0, nil), frame(1, 4, 1, head)...)
		body := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(msg))), msg...)
		for ; len(body) > 0; body = body[min(len(body), 16<<10):] {
			out = append(out, frame(0, 0, 1, body[:min(len(body), 16<<10)])...)
		}
		seen := make([]byte, 0, 1<<20)
		for buf := make([]byte, 64<<10); !bytes.Contains(seen, []byte("INPUT0")) && len(seen) < 1<<20; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			seen = append(seen, buf[:n]...)
			if len(seen) == n { // the preface: settings are due
				_, _ = c.Write(frame(4, 0, 0, nil))
			}
		}
		_, _ = c.Write(out)
		_, _ = io.Copy(io.Discard, c)
	}
}
