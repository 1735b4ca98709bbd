package httppool

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// ping is the exchange of a request without a body and a reply whose body does not matter.
type ping struct{}

const (
	pingRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	pingReply   = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
)

func (ping) Render(*service.Call) (head, rest []byte, body int) { return []byte(pingRequest), nil, 0 }
func (ping) Head(*service.Call, *wire.Reply) bool               { return false }
func (ping) Data(*service.Call, []byte, int64)                  {}
func (ping) Reply(*service.Call, *wire.Reply) *service.Error    { return nil }

// sink hands over each call that has ended.
type sink chan *service.Call

func (sink) Response(*service.Call, []byte, int64, bool) {}

func (s sink) Done(c *service.Call) { s <- c }

// exchangeOnce sends a call and waits for its end.
func (s sink) exchangeOnce(tr service.Transport) record.Class {
	tr.Send(&service.Call{})
	return (<-s).Rec.Class
}

// A call that waits for the next attempt to connect is cut at once, however long the pause is.
func TestCutWhileItPauses(t *testing.T) {
	ended := make(sink, 1)
	tr := New(h1.Config{Addr: testkit.Port(t)}, ended, func() Exchange { return ping{} })
	defer tr.Close()
	tr.backoff = func(int) time.Duration { return time.Hour }
	tr.DialLazily(true)
	if err := tr.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if class := ended.exchangeOnce(tr); class != record.Connect { // without a pause: nothing was refused to a call before
		t.Errorf("nothing listens, and the call ended as %s", class)
	}
	for range 3 {
		tr.Send(&service.Call{})
		tr.Cut(0, record.Timeout)
		if c := <-ended; c.Rec.Class != record.Timeout {
			t.Errorf("the call ended as %s: %v", c.Rec.Class, c.Err)
		}
	}
}

// A call is cut while its connection is being made, here in the middle of the TLS handshake.
func TestCutWhileDialing(t *testing.T) {
	cert, pool := testkit.Certificate(t, "redline.test")
	var conns atomic.Int64
	dialing, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	addr := testkit.Accept(t, func(c net.Conn) {
		defer c.Close()
		if conns.Add(1) > 1 {
			_, _ = io.ReadFull(c, make([]byte, 1)) // the handshake has begun
			dialing <- struct{}{}
			<-release
			return
		}
		s := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		_, _ = io.ReadFull(s, make([]byte, len(pingRequest)))
		_, _ = io.WriteString(s, pingReply)
	})
	ended := make(sink, 1)
	cfg := h1.Config{Addr: addr, TLS: &tls.Config{RootCAs: pool, ServerName: "redline.test"}}
	tr := New(cfg, ended, func() Exchange { return ping{} })
	defer tr.Close()
	if err := tr.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if class := ended.exchangeOnce(tr); class != record.OK {
		t.Fatalf("the first call ended as %s", class)
	}
	for range 3 { // the server has closed the connection; none can be made any more
		tr.Send(&service.Call{})
		<-dialing
		tr.Cut(0, record.Timeout)
		if c := <-ended; c.Rec.Class != record.Timeout {
			t.Errorf("the call ended as %s: %v", c.Rec.Class, c.Err)
		}
	}
}
