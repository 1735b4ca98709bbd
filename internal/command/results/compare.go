// Package results holds the commands that read finished runs: compare, history, report and dash.
package results

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/report/page"
)

// Compare is `redline compare`.
func Compare(p *command.IO, args []string) (int, error) {
	var o compareOptions
	before, after, err := compareSides(&option.Table{Rows: o.rows()}, args)
	if err != nil {
		return 0, err
	}
	rep, err := compareRuns(p, before, after, o.Options)
	if err == nil {
		err = writeComparison(p, rep, &o)
	}
	if err == nil && o.fail && rep.Finding == compare.Worse {
		return command.ExitAssertion, nil
	}
	return 0, err
}

// CompareCommand describes compare.
func CompareCommand() option.Command {
	return option.Command{Exits: []option.Exit{
		{Code: command.ExitOK, Meaning: "the runs were compared"},
		{Code: command.ExitAssertion, Meaning: "B is worse and --fail was given"},
		{Code: command.ExitError, Meaning: "a run cannot be read, or the runs cannot be compared"},
		{Code: command.ExitPipe, Meaning: "the reader of standard output has gone"},
	}, Rows: new(compareOptions).rows(), Intro: `Usage: redline compare A B [options]
       redline compare A A2 A3 -- B B2 B3 [options]

Compares run B with run A: which numbers are better or worse, by how much, and with what confidence. A run is an id of
redline history, "last", "last~1", a label, a file of --json, or a file or folder of perf_analyzer, GenAI-Perf or
AIPerf. With one run on each side, equal runs are assumed to differ by 0.6 %. Give three or more runs on each side to
measure that difference instead. "cannot tell" means that a change of 5 % could have been missed.
`, Examples: `  redline compare last~1 last
  redline compare v1 v2 --format markdown -o compare.md
  redline compare monday tuesday -- today
`}
}

// compareOptions are those of `redline compare`.
type compareOptions struct {
	compare.Options
	format string
	out    string
	fail   bool
}

func (o *compareOptions) rows() []option.Row {
	o.Options, o.format = compare.Defaults(), "text"
	return option.Group("Options", []option.Row{
		{Long: "format", Arg: "HOW", Help: "output format: text, json, markdown or html", To: option.OneOf(&o.format, "text", "json", "markdown", "html")},
		{Long: "out", Short: 'o', Arg: "FILE", Writes: true, Help: "write to this file instead of standard output", To: option.Text(&o.out)},
		{Long: "confidence", Arg: "P", Help: "probability that a comparison of equal runs finds no difference in any number", To: option.Float(&o.Confidence, 0.5, 0.9999)},
		{Long: "least", Arg: "SHARE", Help: "smallest change that counts, such as 0.02 for 2 %: a number differs if its whole interval lies beyond it", To: option.Float(&o.Least, 0, 10)},
		{Long: "fail", Help: "exit with code 4 when B is worse", To: option.Switch(&o.fail)},
	})
}

// compareSides reads which runs stand on which side: two, or several with -- between the sides.
func compareSides(table *option.Table, args []string) (before, after []string, err error) {
	const want = "give two runs, as in redline compare last~1 last; to compare several, put -- between the two sides"
	i := slices.Index(args, "--")
	if i < 0 {
		both, err := command.Parse(table, args, 2, 2, want)
		if err != nil {
			return nil, nil, err
		}
		return both[:1], both[1:], nil
	}
	if before, err = command.Parse(table, args[:i], 1, len(args), want); err != nil {
		return nil, nil, err
	}
	after, err = command.Parse(table, args[i+1:], 1, len(args), want)
	return before, after, err
}

func compareRuns(p *command.IO, before, after []string, o compare.Options) (*compare.Report, error) {
	a, err := runs.LoadAll(p, before)
	if err != nil {
		return nil, err
	}
	b, err := runs.LoadAll(p, after)
	if err != nil {
		return nil, err
	}
	return compare.Runs(a, b, o)
}

func writeComparison(p *command.IO, rep *compare.Report, o *compareOptions) error {
	var b bytes.Buffer
	var err error
	width := 0
	if o.out == "" {
		width = p.LineWidth()
	}
	switch o.format {
	case "json":
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		err = e.Encode(rep)
	case "markdown":
		err = rep.WriteMarkdown(&b)
	case "html":
		err = page.Write(&b, runs.ComparisonPage(rep), p.Secrets)
	default:
		err = rep.WriteText(&b, width)
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		return p.Files.WriteFile(o.out, b.Bytes())
	}
	out := p.Stdout
	if o.format == "text" {
		out = p.Folded()
	}
	_, err = out.Write(b.Bytes())
	return err
}
