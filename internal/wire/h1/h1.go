// Package h1 is an HTTP/1.1 client connection made for load: prepared bytes out, a small strict parser in, a
// time at every read, and no allocation per exchange once its buffer has grown to the size of the replies.
//
// A Conn has one reader, the goroutine in Serve, and one writer at a time, which may be any goroutine. There
// is no pipelining: one request, one reply. Serve hands each finished reply to a Handler, which may write the
// next request at once; so a closed loop lives in one goroutine, and while a connection is idle its reader
// still sees the server close it.
//
// On Linux, a Loop serves many connections on one goroutine, without the runtime's scheduler between two replies.
// It is told of each change once, so after a short read that ended a reply there is no need to ask the kernel
// again before waiting: an exchange is one read and one write. See loop_linux.go and socket_linux.go.
//
// The parser is strict: what is not exactly HTTP/1.x ends the connection with a *neterr.Error whose Kind
// says how, and never as a reply.
package h1

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/arrival"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Limits and sizes used where a Config has none.
const (
	DefaultMaxHead = 64 << 10
	DefaultMaxBody = 2 << 30
	firstBuffer    = 4 << 10
)

// Config says where and how to connect.
type Config struct {
	Addr    string      // host:port
	TLS     *tls.Config // nil: plain TCP
	MaxHead int         // most bytes of a reply's head, or of its trailers; 0 is DefaultMaxHead
	MaxBody int64       // most bytes of a reply's body; 0 is DefaultMaxBody
	// Number names one further header whose decimal value is wanted in Reply.Number. It must be in lower case.
	Number string
	// Arrival asks for the times at which replies came to this machine, where the kernel tells them, and not for those at
	// which they were read: see package arrival.
	Arrival bool
	// Sources are local addresses to connect from; none lets the system choose. Dial uses the first: see From.
	Sources []netip.Addr
	// Budget bounds what the replies of all connections take together; nil does not.
	Budget *budget.Budget
}

// From is the config of the ith of many connections, which use the sources in turns.
func (c Config) From(i int) Config {
	if n := len(c.Sources); n > 1 {
		c.Sources = c.Sources[i%n : i%n+1]
	}
	return c
}

// Handler is told what arrives on a connection, in the goroutine of Serve.
type Handler interface {
	// Head is called once for each reply, when its head is complete. Returning true asks for the body piece
	// by piece through Data; otherwise it is gathered into Reply.Body.
	Head(r *wire.Reply) (stream bool)
	// Data passes on a piece of a streamed body, read at the given time. b is valid until it returns.
	Data(b []byte, at int64)
	// Reply reports a finished reply. It may write the next request.
	Reply(r *wire.Reply)
}

// Conn is one connection. Use Dial.
type Conn struct {
	nc   net.Conn
	sock *socket       // where a loop serves the connection; nc is nil then
	came *arrival.Conn // what nc reads from, where it tells when bytes came
	addr string
	rd   reader
	// exchanges counts the replies that were read; the reader's alone.
	exchanges int
	stop      bool      // the reader's alone
	err       error     // what the parser found; the reader's alone
	cause     error     // what reading gave; the reader's alone
	out       [2][]byte // what is being written; the writer's alone
	bufs      net.Buffers
}

// dialWait bounds the time to connect and to agree on TLS.
const dialWait = 20 * time.Second

// Dial connects. Errors are of type *neterr.Error.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	var d net.Dialer // turns Nagle's delay off by itself
	if len(cfg.Sources) > 0 {
		d.LocalAddr, d.Control = net.TCPAddrFromAddrPort(netip.AddrPortFrom(cfg.Sources[0], 0)), latePort
	}
	nc, err := d.DialContext(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, neterr.Dial(cfg.Addr, err)
	}
	c := newConn(nc, cfg)
	if cfg.TLS == nil {
		return c, nil
	}
	if cfg.Arrival {
		if c.came = arrival.Wrap(nc); c.came != nil {
			nc = c.came
		}
	}
	tc := tls.Client(nc, cfg.TLS)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close() // the handshake's error says more
		return nil, &neterr.Error{Kind: neterr.Handshake, Addr: cfg.Addr, Err: err}
	}
	c.nc = tc
	return c, nil
}

func newConn(nc net.Conn, cfg Config) *Conn {
	c := &Conn{nc: nc, addr: cfg.Addr}
	c.rd.init(cfg)
	return c
}

// Exchanges is the number of replies read so far. Only the goroutine of Serve may ask.
func (c *Conn) Exchanges() int { return c.exchanges }

// Started tells whether a byte of the reply being read has come. Only the goroutine of Serve may ask.
func (c *Conn) Started() bool { return c.rd.started() }

// Stop ends Serve, without an error, as soon as the handler that calls it returns.
func (c *Conn) Stop() { c.stop = true }

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Break makes every read and write fail at once, now and later. It never blocks and may be called from any
// goroutine; the connection still needs Close.
func (c *Conn) Break() {
	if c.sock != nil {
		c.sock.shut()
		return
	}
	_ = c.nc.SetDeadline(longAgo) // it can only fail on a closed connection, which is as good
}

// Close frees the connection. It must not be called from within a handler, nor while Serve runs.
func (c *Conn) Close() error {
	c.rd.share.Release()
	if c.sock != nil {
		return c.sock.close()
	}
	return c.nc.Close()
}

// TryWrite writes a request and never waits. Where a Loop serves the connection, it writes what the kernel takes at
// once; when later is true the loop goes on with the rest, and tells the handler, which must be a Drainer. Without a
// Loop a short request is written in full and a long one not at all: it is returned, for Write.
func (c *Conn) TryWrite(head, body []byte) (restHead, restBody []byte, later bool, err error) {
	if c.sock != nil {
		later, err = c.tryWrite(head, body)
		return nil, nil, later, err
	}
	if len(head)+len(body) > short {
		return head, body, false, nil
	}
	return nil, nil, false, c.Write(head, body)
}

// short is the size up to which a write is taken not to wait: well below what any kernel buffers.
const short = 16 << 10

// Write writes head and then body, and waits until the kernel has taken all. Either may be empty. It is not for
// connections of a loop.
func (c *Conn) Write(head, body []byte) error {
	c.out = [2][]byte{head, body}
	c.bufs = c.out[:]
	if _, err := c.bufs.WriteTo(c.nc); err != nil {
		return c.writeError(err)
	}
	return nil
}

// Serve reads replies and hands them to h until a reply ends the connection or the handler calls Stop, which
// both give nil. Other ends are of type *neterr.Error.
func (c *Conn) Serve(h Handler) error {
	c.rd.h, c.stop = h, false
	if c.sock != nil {
		return c.serveLoop()
	}
	return c.serve()
}

// serve reads through net.Conn.
func (c *Conn) serve() error {
	for {
		b := c.rd.space()
		n, err := c.nc.Read(b)
		if n > 0 {
			at, late := c.arrived()
			if err := c.take(n, at, late); err != nil {
				return err
			}
			if c.stop {
				return nil
			}
		}
		if err != nil {
			return c.finish(err)
		}
	}
}

// arrived is when the last read's bytes came, and how long they lay unread.
func (c *Conn) arrived() (at, late int64) {
	if c.came == nil {
		return clock.Now(), 0
	}
	return c.came.Last()
}

// take parses n new bytes.
func (c *Conn) take(n int, at, late int64) error {
	c.rd.reply.Late = max(c.rd.reply.Late, late)
	done, err := c.rd.feed(n, at)
	if err != nil {
		return c.parseError(err)
	}
	if !done {
		return nil
	}
	c.exchanges++
	c.rd.h.Reply(&c.rd.reply)
	c.stop = c.stop || c.rd.reply.Close
	c.rd.reset()
	return nil
}

// finish ends the reading: a close may be what ends a reply.
func (c *Conn) finish(cause error) error {
	if done := c.rd.end(cause); done {
		c.exchanges++
		c.rd.h.Reply(&c.rd.reply)
		c.rd.reset()
		return nil
	}
	return c.readError(cause)
}
