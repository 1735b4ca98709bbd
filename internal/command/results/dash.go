package results

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/dash"
	"github.com/redline-bench/redline/internal/optset"
)

// Dash is `redline dash`.
func Dash(p *command.IO, args []string) (int, error) {
	var listen string
	if _, err := command.Parse(dashSet(&listen), args, 0, 0, ""); err != nil {
		return 0, err
	}
	ctx, stop := p.SignalContext()
	defer stop()
	s, err := dash.Listen(ctx, listen, runs.Past{IO: p}, p.Secrets)
	if err != nil {
		return 0, fmt.Errorf("%w; use --listen to choose another address", err)
	}
	fmt.Fprintf(p.Stdout, "%s\n", s.URL())
	<-ctx.Done()
	_ = s.Close() // the pages are gone either way
	return 0, nil
}

// DashHelp explains dash.
func DashHelp() string {
	var listen string
	return `Usage: redline dash [options]

Shows the runs of redline history in a browser: each run with its charts, and two runs side by side. The command prints
the address of the pages and runs until it is interrupted. To watch a run in progress, add --dash to the run itself.
` + dashSet(&listen).Help()
}

// DashNames are the options of dash.
func DashNames() []string { return dashSet(new(string)).Names() }

func dashSet(listen *string) *optset.Set {
	*listen = "127.0.0.1:8899"
	s := &optset.Set{}
	s.Group("Options")
	s.Text(listen, "listen", "ADDRESS", "address to listen on; port 0 picks a free port")
	return s
}
