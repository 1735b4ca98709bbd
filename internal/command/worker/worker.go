// Package worker is `redline worker`: it waits for coordinators and makes its share of the load of their runs.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/fleet/hub"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/run"
)

type options struct {
	nats   plan.NATS
	name   string
	folder string
	once   bool
}

func (o *options) rows() []option.Row {
	return append(o.nats.Rows(""), option.Group("Worker", []option.Row{
		{Long: "name", Arg: "NAME", Help: "name of the worker in reports", Default: "the name of the machine", To: option.Text(&o.name)},
		{Long: "data-dir", Arg: "DIR", Help: "folder for the input data of a run", Default: "the folder for temporary files", To: option.Text(&o.folder)},
		{Long: "once", Help: "end after one run", To: option.Switch(&o.once)},
	})...)
}

// Run is `redline worker`.
func Run(p *command.IO, args []string) (int, error) {
	o := options{nats: plan.NATS{URL: plan.NATSAddress}, folder: os.TempDir()}
	if _, err := command.Parse(&option.Table{Rows: o.rows(), Secrets: p.Secrets}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	if hub.Wanted(o.nats.URL) {
		return 0, command.Usage(errors.New("--nats embedded is for the command that starts a run: give the worker the address of that server, such as nats://HOST:4222"))
	}
	ctx, stop := p.SignalContext()
	defer stop()
	host, _ := os.Hostname() // a machine without a name has none
	o.name = cmp.Or(o.name, host)
	stderr := p.FoldedErr()
	say := func(format string, args ...any) { fmt.Fprintln(stderr, cleantext.Line(fmt.Sprintf(format, args...))) }
	bus, err := fleet.Dial(ctx, &o.nats, "worker "+o.name, func(address string) {
		say("worker %s: no NATS server answers at %s yet; waiting for it", o.name, address)
	})
	if ctx.Err() != nil {
		return command.ExitOK, nil
	}
	if err != nil {
		return 0, err
	}
	defer bus.Close()
	w := fleet.Worker{
		Bus: bus, Folder: o.folder, Free: free, Once: o.once,
		Hello:  fleet.Hello{ID: strings.ToLower(rand.Text()), Name: o.name, Host: host, Version: p.Version, Protocol: fleet.Protocol, MaxProcs: runtime.GOMAXPROCS(0)},
		Redact: p.Secrets.Redact,
		Say:    say,
		Prepare: func(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
			if job.Plan == nil { // llm, or a search with its traffic
				return llm.OpenShare(hard, p, job, collect)
			}
			return profile.OpenShare(hard, p, job, collect)
		},
	}
	return command.ExitOK, w.Run(ctx)
}

// Command describes the command.
func Command() option.Command {
	o := options{nats: plan.NATS{URL: plan.NATSAddress}}
	return option.Command{
		Rows: o.rows(),
		Exits: []option.Exit{
			{Code: command.ExitOK, Meaning: "the worker was stopped, or its run is over with --once"},
			{Code: command.ExitError, Meaning: "wrong options, or NATS refuses the worker"},
		},
		Intro: `Usage: redline worker [options]

Waits at a NATS server for runs with --workers, and makes its share of their load. It serves one run at a
time and waits for the next one. It stops the load when the coordinator has sent no heartbeat for 10
seconds. It connects again by itself when NATS was away. docs/fleet.md has more.
`,
		Examples: `  redline worker --nats nats://nats.example:4222 --nats-creds worker.creds
      wait for runs at a NATS server
  redline profile -m simple -u server:8000 --workers 3 --nats nats://nats.example:4222 --nats-creds run.creds
      have three workers make the load of a run
`,
	}
}
