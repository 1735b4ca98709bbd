package results

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/dash"
	"github.com/redline-bench/redline/internal/option"
)

// Dash is `redline dash`.
func Dash(p *command.IO, args []string) (int, error) {
	var listen string
	if _, err := command.Parse(&option.Table{Rows: dashRows(&listen)}, args, 0, 0, ""); err != nil {
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

// DashCommand describes dash.
func DashCommand() option.Command {
	return option.Command{Rows: dashRows(new(string)), Intro: `Usage: redline dash [options]

Shows the runs of redline history in a browser: a list with filters, each run with its charts, two runs side by side,
and the trend of runs of one workload. The command prints the address of the pages and runs until it is interrupted.
To watch a run in progress, add --dash to the run itself.
`}
}

func dashRows(listen *string) []option.Row {
	*listen = "127.0.0.1:8899"
	return []option.Row{{Group: "Options", Long: "listen", Arg: "ADDRESS", Help: "address to listen on; port 0 picks a free port", To: option.Text(listen)}}
}
