// Package doctor is `redline doctor`: it finds problems of this machine that would spoil a measurement.
package doctor

import (
	"context"
	"runtime"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/doctor"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// Run is `redline doctor`.
func Run(p *command.IO, args []string) (int, error) {
	var o options
	if _, err := command.Parse(&option.Table{Rows: o.rows(), Secrets: p.Secrets}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	ctx, stop := p.SignalContext()
	defer stop()
	t, err := o.Target(p.Getenv, p.Secrets)
	if err != nil {
		return 0, err
	}
	list := doctor.Here().Run(ctx)
	if o.URL != "" {
		q := target.Question(t, &o.Access)
		q.Brief = true
		list = append(list, doctor.Server(o.answer(ctx, q)))
	}
	if ctx.Err() != nil {
		return command.ExitInterrupted, nil
	}
	worst := doctor.Worst(list)
	if o.json {
		err = p.PrintJSON(map[string]any{"system": runtime.GOOS + "/" + runtime.GOARCH, "worst": worst, "checks": list})
	} else {
		doctor.Text(p.Stdout, list)
	}
	if err == nil && worst == doctor.Bad {
		return command.ExitFailed, nil
	}
	return 0, err
}

// options is the command line.
type options struct {
	inspect.Access
	json bool
}

func (o *options) rows() []option.Row {
	own := option.Row{Group: "Options", Long: "json", Help: "print the findings as one JSON object", To: option.Switch(&o.json)}
	return append([]option.Row{own}, o.Access.Rows()...)
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Exits: []option.Exit{
		{Code: command.ExitOK, Meaning: "no finding is bad"},
		{Code: command.ExitFailed, Meaning: "a finding is bad"},
		{Code: command.ExitError, Meaning: "any other error"},
		{Code: command.ExitInterrupted, Meaning: "interrupted"},
	}, Rows: new(options).rows(), Intro: `Usage: redline doctor [-u HOST[:PORT]] [options]

Checks this machine for problems that would spoil a measurement: limits of open files and ports, CPU quota, CPU
frequency, CPU time taken by other virtual machines and other programs, the clock, the kernel's receive times, shared
memory. With -u it also checks that the server responds, and how fast. Each problem is printed with its fix.
The command takes about a second.
`, Examples: `  redline doctor
  redline doctor -u gpu-host:8001
  redline doctor --json
`}
}

// answer asks the server.
func (o *options) answer(ctx context.Context, q *inspect.Question) doctor.Answer {
	r, err := q.Look(ctx)
	if err != nil {
		return doctor.Answer{URL: secret.PublicURL(o.URL), Err: err}
	}
	_, broken := r.NotReady()
	return doctor.Answer{URL: r.URL, What: r.What(), Took: r.Took, Models: len(r.Models), Broken: broken, Local: plan.IsLocal(r.URL)}
}
