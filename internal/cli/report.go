package cli

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
)

// reportSet are the options of `redline report`.
func reportSet(out *string) *optset.Set {
	*out = "redline-report.html"
	s := &optset.Set{}
	s.Group("Options")
	s.Text(out, "out,o", "FILE", "where the page goes")
	return s
}

func reportHelp() string {
	var out string
	return `Usage: redline report RUN [RUN] [options]

Writes a run as one HTML page that opens offline. A run is an id of redline history, "last", a label, a file of
--json, or a file or folder of perf_analyzer, GenAI-Perf or AIPerf. Two runs stand beside each other.
` + reportSet(&out).Help() + `
Examples
  redline report last
  redline report last~1 last -o before-and-after.html
`
}

// runReport is `redline report`.
func runReport(p *IO, args []string) (int, error) {
	var out string
	refs, err := parse(reportSet(&out), args, 1, 2, "name one run or two, as in redline report last")
	if err != nil {
		return exitError, err
	}
	if err := p.reportRuns(refs, out); err != nil {
		return exitError, err
	}
	fmt.Fprintln(p.Stdout, out)
	return exitOK, nil
}

func (p *IO) reportRuns(refs []string, out string) error {
	sides, err := p.loadRuns(refs)
	if err != nil {
		return err
	}
	d, err := pageOf(sides)
	if err != nil {
		return err
	}
	return p.writePage(out, d)
}

// pageOf is the page of one run, or of two with their comparison where they can be compared.
func pageOf(sides []compare.Side) (page.Data, error) {
	if len(sides) == 1 {
		return onePage(sides[0].Name, sides[0].Run), nil
	}
	rep, err := compare.Runs(sides[:1], sides[1:], compare.Defaults())
	d := page.Data{}
	switch {
	case errors.Is(err, compare.ErrApart): // they can still be looked at beside each other
		d.Runs = []*page.View{page.NewView(sides[0].Name, sides[0].Run), page.NewView(sides[1].Name, sides[1].Run)}
	case err != nil:
		return d, err
	default:
		d = comparisonPage(rep)
	}
	d.Title = sides[0].Name + " and " + sides[1].Name
	return d, nil
}

// onePage is the page of a single run.
func onePage(name string, res *result.Result) page.Data {
	return page.Data{Title: name, Runs: []*page.View{page.NewView(name, res)}}
}

func (p *IO) writePage(path string, d page.Data) error {
	var b bytes.Buffer
	if err := page.Write(&b, d); err != nil {
		return err
	}
	return p.Files.WriteFile(path, b.Bytes())
}

// runName is what a page calls a run.
func runName(res *result.Result) string {
	name := "redline " + res.Command
	if res.Plan != nil && res.Plan.Target.Model != "" {
		name += " " + res.Plan.Target.Model
	}
	if res.Label != "" {
		name += " (" + res.Label + ")"
	}
	return name
}
