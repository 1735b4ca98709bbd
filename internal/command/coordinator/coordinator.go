// Package coordinator is what commands share that have workers make their load: the connection to NATS, and a NATS server in
// this process where the user wants one.
package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/fleet/hub"
	"github.com/redline-bench/redline/internal/plan"
)

// Bus is the connection to NATS, and the server that this process runs.
type Bus struct {
	*fleet.Bus
	hub *hub.Hub
}

// Open connects to NATS, or starts a server in this process first. Close must be called.
func Open(ctx context.Context, p *command.IO, n plan.NATS) (*Bus, error) {
	b := &Bus{}
	var err error
	if hub.Wanted(n.URL) {
		err = b.start(ctx, p, n)
	} else {
		b.Bus, err = fleet.Dial(ctx, &n, "coordinator", nil)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// start starts a server in this process and connects to it.
func (b *Bus) start(ctx context.Context, p *command.IO, n plan.NATS) error {
	folder, err := folder(p, hub.Port(n.URL))
	if err != nil {
		return err
	}
	if b.hub, err = hub.Start(ctx, n, folder); err != nil {
		return err
	}
	n = b.hub.NATS()
	b.Bus, err = fleet.DialLocal(ctx, b.hub, &n, "coordinator")
	return err
}

// Leave lets the workers of a run go, and removes what NATS has of the run unless it is kept. Without a connection there are none.
func (b *Bus) Leave(run *fleet.Run, keep bool) {
	ctx := context.Background() // also after an interrupt
	switch {
	case b == nil || run == nil:
	case keep:
		run.Abandon(ctx)
	default:
		run.End(ctx)
	}
}

// Close ends the connection and the server.
func (b *Bus) Close() {
	if b == nil {
		return
	}
	if b.Bus != nil {
		b.Bus.Close()
	}
	if b.hub != nil {
		b.hub.Stop()
	}
}

// folder is where the embedded NATS server keeps its files: a run can be taken up after this process was killed. Two servers with
// different ports do not share a folder.
func folder(p *command.IO, port string) (string, error) {
	dir := filepath.Join(cmp.Or(p.CacheFolder(), os.TempDir()), "nats", port)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for the embedded NATS server: %w", err)
	}
	return dir, nil
}

// Named is the fleet with a name for the run.
func Named(f plan.Fleet) (plan.Fleet, error) {
	if f.Run == "" {
		const letters = 6
		f.Run = "run-" + strings.ToLower(rand.Text()[:letters])
	}
	return f, fleet.CheckRunName(f.Run)
}

// Config completes the configuration of a run with what prints for the user.
func Config(p *command.IO, c fleet.Config) fleet.Config {
	say := func(format string, args ...any) { fmt.Fprintln(p.Stderr, cleantext.Line(fmt.Sprintf(format, args...))) }
	c.Version = p.Version
	c.Say, c.Warn = say, func(format string, args ...any) { say("warning: "+format, args...) }
	return c
}
