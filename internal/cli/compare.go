package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/compare/foreign"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
)

// compareOptions are those of `redline compare`.
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
	s.Var("format", "HOW", o.format, "text, json, markdown or html", func(v string) error {
		if !slices.Contains(compareFormats, v) {
			return fmt.Errorf("is one of %s, not %q", strings.Join(compareFormats, ", "), v)
		}
		o.format = v
		return nil
	})
	s.Text(&o.out, "out,o", "FILE", "write to the file, not to the terminal")
	s.Float(&o.Confidence, "confidence", "P", 0.5, 0.9999, "the probability that equal runs raise no alarm, all numbers together")
	s.Float(&o.Least, "least", "SHARE", 0, 10, "a number differs only where its whole interval lies beyond this change: 0.02 for two per cent")
	s.Bool(&o.fail, "fail", "exit with code 4 when B is worse")
	return s
}

func compareHelp() string {
	var o compareOptions
	return `Usage: redline compare A B [options]
       redline compare A A2 A3 -- B B2 B3 [options]

Says whether run B differs from run A: by how much, how surely, for better or for worse. A run is an id of
redline history, "last", "last~1", a label, a file of --json, or a file or folder of perf_analyzer, GenAI-Perf or
AIPerf. With one run a side, runs are assumed to differ by 0.6 % by themselves. Several runs a side show it: give
three or more. "cannot tell" means that a change of 5 % could well have been missed.
` + compareSet(&o).Help() + `
Examples
  redline compare last~1 last
  redline compare v1 v2 --format markdown -o compare.md
  redline compare monday tuesday -- today
`
}

// runCompare is `redline compare`.
func runCompare(p *IO, args []string) (int, error) {
	var o compareOptions
	before, after, err := compareSides(compareSet(&o), args)
	if err != nil {
		return exitError, err
	}
	rep, err := p.compareRuns(before, after, o.Options)
	if err == nil {
		err = p.writeComparison(rep, &o)
	}
	switch {
	case err != nil:
		return exitError, err
	case o.fail && rep.Finding == compare.Worse:
		return exitAssertion, nil
	}
	return exitOK, nil
}

// compareSides reads which runs stand on which side: two, or several with -- between the sides.
func compareSides(set *optset.Set, args []string) (before, after []string, err error) {
	const want = "two runs are needed, as in redline compare last~1 last; with several a side, -- stands between the sides"
	i := slices.Index(args, "--")
	if i < 0 {
		both, err := parse(set, args, 2, 2, want)
		if err != nil {
			return nil, nil, err
		}
		return both[:1], both[1:], nil
	}
	if before, err = parse(set, args[:i], 1, len(args), want); err != nil {
		return nil, nil, err
	}
	after, err = parse(set, args[i+1:], 1, len(args), want)
	return before, after, err
}

func (p *IO) compareRuns(before, after []string, o compare.Options) (*compare.Report, error) {
	a, err := p.loadRuns(before)
	if err != nil {
		return nil, err
	}
	b, err := p.loadRuns(after)
	if err != nil {
		return nil, err
	}
	return compare.Runs(a, b, o)
}

func (p *IO) loadRuns(refs []string) ([]compare.Side, error) {
	out := make([]compare.Side, len(refs))
	for i, ref := range refs {
		run, name, err := p.loadRun(ref)
		if err != nil {
			return nil, err
		}
		out[i] = compare.Side{Name: name, Run: run}
	}
	return out, nil
}

// loadRun reads a run of ours or of another tool, and gives it a name for people.
func (p *IO) loadRun(ref string) (*result.Result, string, error) {
	store := p.historyStore()
	if store == nil {
		store = &history.Store{Dir: os.DevNull}
	}
	path, err := store.Find(ref)
	if err != nil {
		return nil, "", err
	}
	name := ref
	if filepath.Dir(filepath.Dir(path)) == filepath.Clean(store.Dir) {
		name = filepath.Base(filepath.Dir(path))
	}
	if info, serr := os.Stat(path); serr == nil && info.IsDir() {
		run, err := foreign.Load(path)
		return run, name, err
	}
	run, err := history.Load(path)
	if errors.Is(err, history.ErrForeign) {
		run, err = foreign.Load(path)
	}
	return run, name, err
}

// comparisonPage has the charts of both runs where there is one a side, else the table alone.
func comparisonPage(rep *compare.Report) page.Data {
	d := page.Data{Title: "A " + sideNames(rep.A) + " · B " + sideNames(rep.B), Compare: rep, Runs: []*page.View{}}
	if len(rep.A) == 1 && len(rep.B) == 1 {
		for _, s := range []compare.Side{rep.A[0], rep.B[0]} {
			d.Runs = append(d.Runs, page.NewView(s.Name, s.Run))
		}
	}
	return d
}

func sideNames(sides []compare.Side) string {
	names := make([]string, len(sides))
	for i, s := range sides {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

func (p *IO) writeComparison(rep *compare.Report, o *compareOptions) error {
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
		err = page.Write(&b, comparisonPage(rep))
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
