package stress

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// Control loads and unloads the model under test.
type Control interface {
	Load(ctx context.Context) error
	Unload(ctx context.Context) error
}

// disturb starts the disturbances of the options; they end with ctx.
func (r *run) disturb(ctx context.Context, wg *sync.WaitGroup) {
	if r.plan.Chaos > 0 {
		wg.Go(func() { r.chaos(ctx) })
	}
	if r.plan.CutEvery > 0 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(r.plan.Seed), 1))
			for clock.Sleep(ctx, r.plan.CutEvery) {
				r.cfg.Cutter.Cut(rng)
			}
		})
	}
}

// chaos unloads and loads the model while the run lasts.
func (r *run) chaos(ctx context.Context) {
	count := &counted{Control: r.cfg.Control, n: &r.unloads}
	if _, err := Unload(ctx, count, r.plan.Chaos, r.plan.ChaosDown); err != nil {
		r.abort(err)
	}
}

// counted counts as it goes.
type counted struct {
	Control
	n *atomic.Int64
}

// Unload passes on and counts.
func (c *counted) Unload(ctx context.Context) error {
	err := c.Control.Unload(ctx)
	if err == nil {
		c.n.Add(1)
	}
	return err
}

// callLimit is how long a call that loads or unloads the model may take.
const callLimit = time.Minute

// Unload unloads the model at this interval and loads it again after down, until ctx ends. It always leaves the model loaded. It
// returns how often it unloaded the model.
func Unload(ctx context.Context, c Control, every, down time.Duration) (n int, err error) {
	for clock.Sleep(ctx, every) {
		// The end of ctx does not cancel the call: the server could obey a canceled one after the model has been loaded again.
		err = whole(ctx, c.Unload)
		if err == nil {
			n++
			clock.Sleep(ctx, down)
		}
		back := whole(ctx, c.Load)
		if err == nil { // a server that refuses to unload refuses to load with the same message
			err = back
		}
		if err != nil && ctx.Err() == nil { // what ended ctx may have ended the server too
			return n, err
		}
	}
	return n, nil
}

// whole makes a call that ctx does not cancel.
func whole(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	return call(ctx)
}

// cutDuring reports whether a connection was cut between two times.
func (r *run) cutDuring(from, to int64) bool {
	return r.cfg.Cutter != nil && r.cfg.Cutter.during(from, to)
}

// Cutter is a proxy to the server that can cut connections. Close ends it.
type Cutter struct {
	target string
	listen net.Listener
	wg     sync.WaitGroup

	mu    sync.Mutex
	pairs []*pair // open connections
	times []int64 // of cuts
	done  bool
}

// pair is a connection from the client and its continuation to the server.
type pair struct{ client, server *net.TCPConn }

// NewCutter listens on a loopback port for connections to target.
func NewCutter(ctx context.Context, target string) (*Cutter, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for connections to be cut: %w", err)
	}
	c := &Cutter{target: target, listen: l}
	ctx = context.WithoutCancel(ctx)
	c.wg.Go(func() { c.accept(ctx) })
	return c, nil
}

// Addr is where clients must connect.
func (c *Cutter) Addr() string { return c.listen.Addr().String() }

// Close cuts all connections and waits for their end.
func (c *Cutter) Close() error {
	c.mu.Lock()
	c.done = true
	pairs := c.pairs
	c.pairs = nil
	c.mu.Unlock()
	err := c.listen.Close()
	for _, p := range pairs {
		p.close()
	}
	c.wg.Wait()
	return err
}

// Cut resets one connection, if there is any, on both sides.
func (c *Cutter) Cut(rng *rand.Rand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pairs) == 0 {
		return
	}
	i := rng.IntN(len(c.pairs))
	p := c.pairs[i]
	c.pairs = slices.Delete(c.pairs, i, i+1)
	c.times = append(c.times, clock.Now())
	for _, conn := range []*net.TCPConn{p.client, p.server} {
		_ = conn.SetLinger(0) // close as a reset; if it cannot be set, an orderly end is a cut too
	}
	p.close()
}

func (c *Cutter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.times)
}

func (c *Cutter) during(from, to int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, _ := slices.BinarySearch(c.times, from)
	return i < len(c.times) && c.times[i] <= to
}

func (c *Cutter) accept(ctx context.Context) {
	for {
		conn, err := c.listen.Accept()
		if err != nil {
			return
		}
		c.wg.Go(func() { c.connect(ctx, conn.(*net.TCPConn)) })
	}
}

func (c *Cutter) connect(ctx context.Context, client *net.TCPConn) {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", c.target)
	if err != nil {
		_ = client.Close() // the client sees that the server cannot be reached
		return
	}
	p := &pair{client: client, server: conn.(*net.TCPConn)}
	c.mu.Lock()
	if c.done {
		c.mu.Unlock()
		p.close()
		return
	}
	c.pairs = append(c.pairs, p)
	c.mu.Unlock()
	c.wg.Go(func() { p.pass(p.server, p.client) })
	p.pass(p.client, p.server)
	c.mu.Lock()
	c.pairs = slices.DeleteFunc(c.pairs, func(o *pair) bool { return o == p })
	c.mu.Unlock()
}

// pass copies one direction; its end ends both.
func (p *pair) pass(to, from *net.TCPConn) {
	_, _ = io.Copy(to, from) // connections are expected to break
	p.close()
}

func (p *pair) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}
