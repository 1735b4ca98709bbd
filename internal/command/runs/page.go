package runs

import (
	"bytes"
	"errors"
	"strings"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
)

// Page is the page of one run, or of two with their comparison where they can be compared.
func Page(sides []compare.Side) (page.Data, error) {
	if len(sides) == 1 {
		return OnePage(sides[0].Name, sides[0].Run), nil
	}
	rep, err := compare.Runs(sides[:1], sides[1:], compare.Defaults())
	d := page.Data{}
	switch {
	case errors.Is(err, compare.ErrApart): // they can still be looked at beside each other
		d.Runs = convert.All(sides, view)
	case err != nil:
		return d, err
	default:
		d = ComparisonPage(rep)
	}
	d.Title = sides[0].Name + " and " + sides[1].Name
	return d, nil
}

// OnePage is the page of a single run.
func OnePage(name string, res *result.Result) page.Data {
	return page.Data{Title: name, Runs: []*page.View{page.NewView(name, res)}}
}

// ComparisonPage has the charts of both runs where there is one a side, else the table alone.
func ComparisonPage(rep *compare.Report) page.Data {
	d := page.Data{Title: "A " + sideNames(rep.A) + " · B " + sideNames(rep.B), Compare: rep, Runs: []*page.View{}}
	if len(rep.A) == 1 && len(rep.B) == 1 {
		d.Runs = []*page.View{view(rep.A[0]), view(rep.B[0])}
	}
	return d
}

func view(s compare.Side) *page.View { return page.NewView(s.Name, s.Run) }

func sideNames(sides []compare.Side) string {
	return strings.Join(convert.All(sides, func(s compare.Side) string { return s.Name }), ", ")
}

// WritePage writes a page to a file.
func WritePage(files *pending.Output, path string, d page.Data) error {
	var b bytes.Buffer
	if err := page.Write(&b, d, files.Secrets()); err != nil {
		return err
	}
	return files.WriteBinary(path, b.Bytes())
}

// Name is what a page calls a run.
func Name(res *result.Result) string {
	name := "redline " + res.Command
	if res.Plan != nil && res.Plan.Target.Model != "" {
		name += " " + res.Plan.Target.Model
	}
	if res.Label != "" {
		name += " (" + res.Label + ")"
	}
	return name
}
