package results

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/option"
)

// Report is `redline report`.
func Report(p *command.IO, args []string) (int, error) {
	var out string
	refs, err := command.Parse(&option.Table{Rows: reportRows(&out)}, args, 1, 2, "name one run or two, as in redline report last")
	if err != nil {
		return 0, err
	}
	sides, err := runs.LoadAll(p, refs)
	if err != nil {
		return 0, err
	}
	d, err := runs.Page(sides)
	if err == nil {
		err = runs.WritePage(p.Files, out, d)
	}
	if err == nil {
		fmt.Fprintln(p.Stdout, out)
	}
	return 0, err
}

// ReportCommand describes report.
func ReportCommand() option.Command {
	return option.Command{Rows: reportRows(new(string)), Intro: `Usage: redline report RUN [RUN] [options]

Writes a run as one HTML page that opens offline; with two runs, both side by side. A run is an id of redline history,
"last", a label, a file of --json, or a file or folder of perf_analyzer, GenAI-Perf or AIPerf.
`, Examples: `  redline report last
  redline report last~1 last -o before-and-after.html
`}
}

func reportRows(out *string) []option.Row {
	*out = "redline-report.html"
	return []option.Row{{Group: "Options", Long: "out", Short: 'o', Arg: "FILE", Writes: true, Help: "file to write the page to", To: option.Text(out)}}
}
