package h2

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/wire/neterr"
)

// stuck is a connection whose server sends and never reads: writes wait until it is closed.
type stuck struct {
	scripted
	closed chan struct{}
}

func newStuck(pieces ...[]byte) *stuck {
	return &stuck{scripted: scripted{pieces: pieces, end: io.EOF}, closed: make(chan struct{})}
}

func (s *stuck) Write([]byte) (int, error) {
	<-s.closed
	return 0, net.ErrClosed
}

func (s *stuck) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

// A server that asks and does not read ends the connection, before the answers have become many.
func TestUnreadAnswersAreBounded(t *testing.T) {
	for name, f := range map[string]*server{
		"PING":     newServer().frame(framePing, 0, 0, make([]byte, 8)),
		"SETTINGS": newServer().frame(frameSettings, 0, 0, nil),
	} {
		nc := newStuck(bytes.Repeat(f.Bytes(), 500_000))
		c := newConn(Config{}, nc)
		c.in.settled = true
		err := c.Serve()
		if e, ok := errors.AsType[*neterr.Error](err); !ok || e.Kind != neterr.Malformed || !strings.Contains(e.Text, "does not read the answers") {
			t.Errorf("%s: %v", name, err)
		}
		if n := cap(c.out.Buf); n > 4*maxAnswers {
			t.Errorf("%s: %d bytes of answers were gathered", name, n)
		}
	}
}

// A server that reads the answers may ask as often as it likes.
func TestAnswersThatAreReadAreNotBounded(t *testing.T) {
	const rounds, batch = 200, 1000
	client, srv := net.Pipe()
	done := make(chan error, 1)
	go func() {
		defer srv.Close()
		ping := bytes.Repeat(newServer().frame(framePing, 0, 0, make([]byte, 8)).Bytes(), batch)
		answers := make([]byte, len(ping))
		var err error
		for i := 0; i < rounds && err == nil; i++ {
			if _, err = srv.Write(ping); err == nil {
				_, err = io.ReadFull(srv, answers)
			}
		}
		done <- err
	}()
	c := newConn(Config{}, client)
	c.in.settled = true
	if e, ok := errors.AsType[*neterr.Error](c.Serve()); !ok || e.Kind != neterr.Closed {
		t.Errorf("the connection ended with %v", e)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Requests to a server that does not read are not gathered without end, whatever it answers.
func TestUnsentRequestsAreBounded(t *testing.T) {
	nc := newStuck()
	c := newConn(Config{}, nc)
	c.in.settled = true
	c.win = maxWindow
	h := Request{Path: "/a/B", Authority: "x"}.Header()
	body := make([]byte, 8000)
	var err error
	for range 2 * maxUnsent / len(body) {
		l := &log{}
		l.stream.Bind(l)
		if err = c.Open(&l.stream, h, Message{Body: body, Last: true}); err != nil {
			break
		}
		c.Flush()
	}
	if e, ok := errors.AsType[*neterr.Error](err); !ok || e.Kind != neterr.Reset || !strings.Contains(e.Text, "does not read") {
		t.Errorf("%v", err)
	}
	c.out.Wait()
}

// Messages that have come in part are bounded over all streams of a connection.
func TestPartsOfMessagesAreBounded(t *testing.T) {
	nc := &scripted{end: io.EOF}
	c := newConn(Config{MaxMessage: 1 << 20, MaxUnread: 3 << 19}, nc)
	c.in.settled = true
	h := Request{Path: "/a/B", Authority: "x"}.Header()
	var logs [3]*log
	s := newServer()
	part := append([]byte{0, 0, 0x10, 0, 0}, make([]byte, 600<<10)...) // of a message of 1 MiB
	for i := range logs {
		logs[i] = &log{}
		logs[i].stream.Bind(logs[i])
		if err := c.Open(&logs[i].stream, h, Message{Last: true}); err != nil {
			t.Fatal(err)
		}
		id := uint32(2*i + 1)
		s.ok(id).frame(frameData, 0, id, part)
	}
	nc.pieces = [][]byte{s.Bytes()}
	_ = c.Serve()
	failed := 0
	for _, l := range logs {
		if strings.Contains(strings.Join(l.events, " "), "come in part take more than") {
			failed++
		}
	}
	if failed == 0 || c.in.unread != 0 {
		t.Errorf("%d streams failed, %d bytes are unread after the end", failed, c.in.unread)
	}
	if c.in.kept > c.cfg.MaxMessage {
		t.Errorf("%d bytes of buffers are kept", c.in.kept)
	}
}

// The deadline of a call is kept while its answer is being unpacked.
func TestCancelEndsUnpacking(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for range 16 {
		_, _ = w.Write(make([]byte, 1<<20))
	}
	_ = w.Close()
	s := newServer().headers(1, 0, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip")
	s.frame(frameData, 0, 1, prefixed(1, packed.String())).trailers(1, "0")
	c := newConn(Config{}, &scripted{pieces: [][]byte{s.Bytes()}, end: io.EOF})
	c.in.settled = true
	l := &log{}
	l.stream.Bind(l)
	if err := c.Open(&l.stream, Request{Path: "/a/B", Authority: "x"}.Header(), Message{Last: true}); err != nil {
		t.Fatal(err)
	}
	c.Cancel(&l.stream, errors.New("late"))
	_ = c.Serve()
	if len(l.events) != 1 || !strings.HasPrefix(l.events[0], "canceled") {
		t.Errorf("%q", l.events)
	}
}
