package cli

import (
	"context"
	"runtime"

	"github.com/redline-bench/redline/internal/doctor"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/secret"
)

// doctorOptions is the command line of doctor.
type doctorOptions struct {
	inspect.Access
	json bool
}

func doctorSet(o *doctorOptions) *optset.Set {
	s := &optset.Set{}
	s.Group("Options")
	s.Bool(&o.json, "json", "print the findings as one JSON object")
	s.Group("Server")
	o.AddOptions(s)
	return s
}

func doctorHelp() string {
	return `Usage: redline doctor [-u HOST[:PORT]] [options]

Finds what stands in the way of a good measurement on this machine: limits of files and ports, CPU quota, CPU
frequency, time stolen by the hypervisor, other programs, the clock, receive times of the kernel, shared memory; and
with -u whether and how fast the server answers. Each finding that matters comes with its fix. The exit code is 1 if a
finding is bad. It takes a second.
` + doctorSet(new(doctorOptions)).Help() + `
Examples
  redline doctor
  redline doctor -u gpu-host:8001
  redline doctor --json
`
}

// runDoctor is `redline doctor`.
func runDoctor(p *IO, args []string) (int, error) {
	var o doctorOptions
	set := doctorSet(&o)
	set.Secrets = p.Secrets
	if _, err := parse(set, args, 0, 0, ""); err != nil {
		return exitError, err
	}
	ctx, stop := p.signalContext()
	defer stop()
	t, err := o.Target(p.Getenv, p.Secrets)
	if err != nil {
		return exitError, err
	}
	list := doctor.Here().Run(ctx)
	if o.URL != "" {
		q := question(t, &o.Access, "")
		q.Brief = true
		list = append(list, doctor.Server(o.answer(ctx, q)))
	}
	if ctx.Err() != nil {
		return exitInterrupted, nil
	}
	worst := doctor.Worst(list)
	if o.json {
		err = printJSON(p, map[string]any{"system": runtime.GOOS + "/" + runtime.GOARCH, "worst": worst, "checks": list})
	} else {
		doctor.Text(p.Stdout, list)
	}
	switch {
	case err != nil:
		return exitError, err
	case worst == doctor.Bad:
		return exitFailed, nil
	}
	return exitOK, nil
}

// answer asks the server.
func (o *doctorOptions) answer(ctx context.Context, q *inspect.Question) doctor.Answer {
	r, err := q.Look(ctx)
	if err != nil {
		return doctor.Answer{URL: secret.PublicURL(o.URL), Err: err}
	}
	_, broken := r.NotReady()
	return doctor.Answer{URL: r.URL, What: r.What(), Took: r.Took, Models: len(r.Models), Broken: broken, Local: isLoopback(r.URL)}
}
