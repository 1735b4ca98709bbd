// Package results holds the commands that read finished runs: compare, history, report and dash.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/report/page"
)

// Compare is `redline compare`.
func Compare(p *command.IO, args []string) (int, error) {
	var o compareOptions
	before, after, err := compareSides(compareSet(&o), args)
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

// CompareHelp explains compare.
func CompareHelp() string {
	var o compareOptions
	return `Usage: redline compare A B [options]
       redline compare A A2 A3 -- B B2 B3 [options]

Compares run B with run A: which numbers are better or worse, by how much, and with what confidence. A run is an id of
redline history, "last", "last~1", a label, a file of --json, or a file or folder of perf_analyzer, GenAI-Perf or
AIPerf. With one run on each side, equal runs are assumed to differ by 0.6 %. Give three or more runs on each side to
measure that difference instead. "cannot tell" means that a change of 5 % could have been missed.
` + compareSet(&o).Help() + `
Examples
  redline compare last~1 last
  redline compare v1 v2 --format markdown -o compare.md
  redline compare monday tuesday -- today
`
}

// CompareNames are the options of compare.
func CompareNames() []string { return compareSet(new(compareOptions)).Names() }

// compareOptions are the options of `redline compare`.
type compareOptions struct {
	compare.Options
	format string
	out    string
	fail   bool
}

var compareFormats = []string{"text", "json", "markdown", "html"}

func compareSet(o *compareOptions) *optset.Set {
	o.Options, o.format = compare.Defaults(), "text"
	s := &optset.Set{}
	s.Group("Options")
	s.Var("format", "HOW", o.format, "output format: text, json, markdown or html", func(v string) error {
		if !slices.Contains(compareFormats, v) {
			return fmt.Errorf("is one of %s, not %q", strings.Join(compareFormats, ", "), v)
		}
		o.format = v
		return nil
	})
	s.Text(&o.out, "out,o", "FILE", "write to this file instead of standard output")
	s.Float(&o.Confidence, "confidence", "P", 0.5, 0.9999, "probability that a comparison of equal runs finds no difference in any number")
	s.Float(&o.Least, "least", "SHARE", 0, 10, "smallest change that counts, such as 0.02 for 2 %: a number differs if its whole interval lies beyond it")
	s.Bool(&o.fail, "fail", "exit with code 4 when B is worse")
	return s
}

// compareSides reads the runs of both sides: two runs, or several runs with -- between the sides.
func compareSides(set *optset.Set, args []string) (before, after []string, err error) {
	const want = "give two runs, as in redline compare last~1 last; to compare several, put -- between the two sides"
	i := slices.Index(args, "--")
	if i < 0 {
		both, err := command.Parse(set, args, 2, 2, want)
		if err != nil {
			return nil, nil, err
		}
		return both[:1], both[1:], nil
	}
	if before, err = command.Parse(set, args[:i], 1, len(args), want); err != nil {
		return nil, nil, err
	}
	after, err = command.Parse(set, args[i+1:], 1, len(args), want)
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
	switch o.format {
	case "json":
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		err = e.Encode(rep)
	case "markdown":
		err = rep.WriteMarkdown(&b)
	case "html":
		err = page.Write(&b, runs.ComparisonPage(rep))
	default:
		err = rep.WriteText(&b)
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		return p.Files.WriteFile(o.out, b.Bytes())
	}
	_, err = p.Stdout.Write(b.Bytes())
	return err
}
