// Package h2 is a gRPC client connection over HTTP/2, made to load servers: many streams on a connection, few
// system calls, no allocation in the steady state, and a timestamp with every read.
//
// A connection has one goroutine, the caller's, which runs Serve: it reads, handles every frame that came with
// the read, calls the handlers of the streams, and writes once what the handlers sent. A closed loop of many
// requests in flight therefore costs one read and one write for a whole batch. Other goroutines may send too:
// Open and Send append frames to a buffer under a mutex, Flush writes it. A write never makes Serve wait: what
// the kernel does not take at once is pushed by a goroutine of its own, while reading goes on.
//
// The package knows gRPC's framing (length-prefixed messages, compression, status in trailers) and nothing of
// what messages mean. What the server sends is held against the standard: a breach ends the stream or the
// connection with a *neterr.Error, never with a panic and never with success.
package h2

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/wire/arrival"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2/hpack"
	"github.com/redline-bench/redline/internal/wire/h2/outbox"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Config says how to connect. The zero value of every field but Addr works.
type Config struct {
	Addr string
	// TLS, when set, makes the connection one over TLS; ALPN is added here.
	TLS *tls.Config
	// Arrival asks for the times at which answers came to this machine, where the kernel tells them, and not for those at
	// which they were read: see package arrival.
	Arrival bool
	// MaxMessage bounds the size of a received message, packed and unpacked, and of the body of an answer that is not
	// gRPC's; 0 is gRPC's own bound of 2 GiB.
	MaxMessage int
	// MaxUnread bounds the messages of all streams that have come in part; 0 is four times MaxMessage.
	MaxUnread int
	// Budget bounds what the messages of all connections take together; nil does not.
	Budget *budget.Budget
	// Lock, when set, is held while handlers run: connections that share it never run them concurrently.
	Lock sync.Locker
	// OnDrain, when set, is called once, on a goroutine of its own, when the connection will take no more
	// streams although those it has go on.
	OnDrain func()
	// Busy, when set, counts the nanoseconds in which the connection handled what it had read; not its waits.
	Busy *atomic.Int64
	// Wait bounds the time to connect and to receive the server's settings; 0 is 20 seconds.
	Wait time.Duration
}

const defaultWait = 20 * time.Second

// Conn is one connection. Use Dial.
type Conn struct {
	cfg  Config
	nc   net.Conn
	src  net.Conn      // what is read from: nc, or what tells when bytes came
	came *arrival.Conn // records arrival times, perhaps below TLS; nil without them

	mu       sync.Mutex
	streams  table
	queue    []*Stream // waiting for a place among the concurrent streams
	nextID   uint32
	win      int64 // what the server lets us send on the connection
	peer     peerSettings
	blocked  []*Stream // have unsent bytes
	enc      *hpack.Encoder
	prepared []prepared
	scratch  []byte
	joined   []byte // a header block with the field of Stream.Also
	cuts     []cut
	err      *neterr.Error // the connection is dead
	draining bool
	farewell string // what a GOAWAY with an error says
	out      outbox.Box

	in reader
}

// peerSettings are the server's settings that bind us.
type peerSettings struct {
	maxStreams uint32
	window     int64
	frameSize  int
}

// Dial connects, and waits for the server's settings. Errors are of type *neterr.Error. The caller must run Serve
// and, in the end, Close.
func Dial(ctx context.Context, cfg Config) (*Conn, error) {
	if cfg.Wait == 0 {
		cfg.Wait = defaultWait
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Wait)
	defer cancel()
	nc, came, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c := newConn(cfg, nc)
	if c.came = came; came != nil && cfg.TLS == nil {
		c.src = came // writing is cheaper without it in between
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	err = c.hello()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = nc.Close()
		return nil, helloError(cfg, err)
	}
	_ = nc.SetDeadline(time.Time{})
	return c, nil
}

func newConn(cfg Config, nc net.Conn) *Conn {
	if cfg.MaxMessage == 0 {
		cfg.MaxMessage = math.MaxInt32
	}
	if cfg.MaxUnread == 0 {
		cfg.MaxUnread = 4 * cfg.MaxMessage
	}
	c := &Conn{
		cfg:    cfg,
		nc:     nc,
		src:    nc,
		nextID: 1,
		win:    defaultWindow,
		peer:   peerSettings{maxStreams: math.MaxUint32, window: defaultWindow, frameSize: minFrameSize},
		enc:    hpack.NewEncoder(),
	}
	c.out.Init(nc, &c.mu, c.broken)
	c.in.init(cfg.Budget)
	c.in.stop = func() bool { return c.isCut(c.in.unpacking) }
	return c
}

// connect makes the byte stream, TLS included, and what tells when its bytes came.
func connect(ctx context.Context, cfg Config) (nc net.Conn, came *arrival.Conn, err error) {
	var d net.Dialer
	if nc, err = d.DialContext(ctx, "tcp", cfg.Addr); err != nil {
		return nil, nil, dialError(cfg.Addr, err)
	}
	if cfg.Arrival {
		if came = arrival.Wrap(nc); came != nil {
			came.Pieces()
		}
	}
	if cfg.TLS == nil {
		return nc, came, nil
	}
	below := nc
	if came != nil {
		below = came
	}
	conf := cfg.TLS.Clone()
	conf.NextProtos = []string{"h2"}
	if conf.ServerName == "" {
		host, _, err := net.SplitHostPort(cfg.Addr)
		if err != nil {
			host = cfg.Addr
		}
		conf.ServerName = host
	}
	tc := tls.Client(below, conf)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = nc.Close()
		e := dialError(cfg.Addr, err)
		if e.Kind == neterr.Unreachable {
			e.Kind = neterr.Handshake
		}
		return nil, nil, e
	}
	if tc.ConnectionState().NegotiatedProtocol != "h2" {
		_ = nc.Close()
		return nil, nil, &neterr.Error{Kind: neterr.NotHTTP, Text: "dial " + cfg.Addr + ": the server does not offer HTTP/2 (ALPN h2) over TLS"}
	}
	return tc, came, nil
}

// hello sends the preface and reads until the server's settings have come.
func (c *Conn) hello() error {
	if _, err := c.nc.Write(appendHello(nil)); err != nil {
		return err
	}
	for !c.in.settled {
		n, err := c.fill()
		if n > 0 {
			if ferr := c.feed(clock.Now()); ferr != nil {
				return ferr
			}
		}
		if err != nil {
			return err
		}
	}
	c.Flush()
	return nil
}

func helloError(cfg Config, err error) error {
	if own, ok := errors.AsType[*neterr.Error](err); ok {
		return &neterr.Error{Kind: own.Kind, Code: own.Code, Text: "dial " + cfg.Addr + ": " + own.Text, Err: own.Err}
	}
	if errors.Is(err, context.Canceled) {
		return &neterr.Error{Kind: neterr.Canceled, Text: "dial " + cfg.Addr, Err: err}
	}
	e := dialError(cfg.Addr, err)
	switch {
	case e.Kind == neterr.Timeout || errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Text = neterr.Timeout, "dial "+cfg.Addr+": connected, but no HTTP/2 settings came; is it a gRPC port?"
	case e.Kind == neterr.Unreachable:
		e.Kind, e.Text = neterr.NotHTTP, "dial "+cfg.Addr+": the server closed the connection without HTTP/2 settings; is it a gRPC port?"
	}
	return e
}

// MaxStreams is how many streams the server lets run at once on this connection.
func (c *Conn) MaxStreams() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer.maxStreams
}

// Close ends the connection at once: Serve returns after every stream has ended with an error of kind Local.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.err == nil {
		c.err = &neterr.Error{Kind: neterr.Local, Text: "the connection was closed here"}
	}
	c.mu.Unlock()
	return c.nc.Close()
}

// Flush writes what Open and Send have gathered, and does not wait for it.
func (c *Conn) Flush() { c.out.Flush() }

// broken ends the connection after a failed write; the mutex is held. The reader reports it.
func (c *Conn) broken(err error) {
	if c.err == nil && !errors.As(err, &c.err) {
		c.err = readError(err)
	}
	_ = c.nc.Close()
}
