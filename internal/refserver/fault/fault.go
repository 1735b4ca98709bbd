// Package fault makes the server fail on demand, so that clients can be tested with the faults of real servers.
//
// A fault is requested by the name of a model at start, or by a request itself in the header (or gRPC metadata)
// x-redline-fault. Both are written KIND[,every=N][,for=TIME]: with every=N only each n-th request is hit. A TIME without a unit is in
// milliseconds. docs/refserver.md lists the kinds.
package fault

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
)

// Header is the header by which a request selects a fault.
const Header = "X-Redline-Fault"

// Kind is the kind of a fault.
type Kind string

// The kinds.
const (
	Error     Kind = "error"
	Delay     Kind = "delay"
	Hang      Kind = "hang"
	Reset     Kind = "reset"
	Truncate  Kind = "truncate"
	Length    Kind = "length"
	Malformed Kind = "malformed"
	Slow      Kind = "slow"
	GoAway    Kind = "goaway"
	Refuse    Kind = "refuse"
	Die       Kind = "die"
)

var kinds = []Kind{Error, Delay, Hang, Reset, Truncate, Length, Malformed, Slow, GoAway, Refuse, Die}

// Text is the message of a fault.
const Text = "fault: failed on purpose"

// Spec is one fault.
type Spec struct {
	Kind  Kind
	Every int
	For   time.Duration
	seen  atomic.Int64
}

// Parse reads KIND[,every=N][,for=TIME].
func Parse(text string) (*Spec, error) {
	parts := strings.Split(text, ",")
	s := &Spec{Kind: Kind(parts[0]), Every: 1, For: 100 * time.Millisecond}
	if s.Kind == Slow {
		s.For = 10 * time.Millisecond
	}
	if !slices.Contains(kinds, s.Kind) {
		return nil, fmt.Errorf("unknown fault %q; use one of %v", parts[0], kinds)
	}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		var err error
		switch name {
		case "every":
			s.Every, err = strconv.Atoi(value)
		case "for":
			s.For, err = length(value)
		default:
			err = fmt.Errorf("unknown setting")
		}
		if err != nil || s.Every < 1 || s.For <= 0 {
			return nil, fmt.Errorf("fault %q: cannot read %q; write KIND[,every=N][,for=TIME]", text, p)
		}
	}
	return s, nil
}

// length reads a time; a number without a unit is in milliseconds, as that of --delay.
func length(text string) (time.Duration, error) {
	if ms, err := strconv.ParseFloat(text, 64); err == nil && ms >= 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	return time.ParseDuration(text)
}

// Set is the faults of one server.
type Set struct {
	models  map[string]*Spec
	clock   *pause.Clock
	die     func()
	refuses atomic.Bool

	mu    sync.Mutex
	conns map[string]net.Conn // of gRPC, by the client's address
}

// New makes a set from specs by model; "*" hits all models. die ends the server's process.
func New(specs map[string]string, clock *pause.Clock, die func()) (*Set, error) {
	if die == nil {
		die = func() {}
	}
	s := &Set{models: map[string]*Spec{}, clock: clock, die: die, conns: map[string]net.Conn{}}
	for model, text := range specs {
		spec, err := Parse(text)
		if err != nil {
			return nil, err
		}
		s.models[model] = spec
	}
	return s, nil
}

// find returns the fault of a request: from its header, for its model, or for all models. nil if it has none.
func (s *Set) find(model, header string) (*Spec, error) {
	if header != "" {
		return Parse(header)
	}
	for _, name := range []string{model, "*"} {
		if spec := s.models[name]; spec != nil && spec.seen.Add(1)%int64(spec.Every) == 0 {
			return spec, nil
		}
	}
	return nil, nil // no fault is not an error
}

// Listener watches the connections of a listener, so that they can be refused and reset.
func (s *Set) Listener(l net.Listener) net.Listener { return &listener{Listener: l, set: s} }

type listener struct {
	net.Listener
	set *Set
}

// Accept closes the accepted connections after the fault refuse.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.set.refuses.Load() {
			_ = c.Close()
			continue
		}
		w := &conn{Conn: c, set: l.set, key: c.RemoteAddr().String()}
		l.set.mu.Lock()
		l.set.conns[w.key] = c
		l.set.mu.Unlock()
		return w, nil
	}
}

type conn struct {
	net.Conn
	set *Set
	key string
}

func (c *conn) Close() error {
	c.set.mu.Lock()
	delete(c.set.conns, c.key)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// reset ends a connection so that the other side sees a reset.
func reset(c net.Conn) {
	bare := c
	for {
		switch inner := bare.(type) {
		case *conn:
			bare = inner.Conn
			continue
		case interface{ NetConn() net.Conn }: // TLS, or one that notes its writes
			bare = inner.NetConn()
			continue
		case *net.TCPConn:
			_ = inner.SetLinger(0)
			_ = inner.Close() // before TLS can send its close message
		}
		break
	}
	_ = c.Close()
}
