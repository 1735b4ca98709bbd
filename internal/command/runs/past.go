package runs

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/report/page"
)

// Past is the history as the dashboard sees it.
type Past struct{ *command.IO }

// List gives the runs, the newest first.
func (p Past) List() ([]page.Item, error) {
	store := Store(p.IO)
	if store == nil {
		return nil, nil
	}
	list, err := store.List()
	if err != nil {
		return nil, err
	}
	out := make([]page.Item, len(list))
	for i, e := range list {
		out[len(list)-1-i] = item(e)
	}
	return out, nil
}

func item(e history.Entry) page.Item {
	return page.Item{
		ID: e.ID, Start: e.Start.Local().Format(time.DateTime), Command: e.Did(), Label: e.Label, Model: e.Model, Version: e.Version,
		Workload: e.Workload, Missed: e.MissedRules, Levels: e.Levels, Throughput: e.Best, P99: e.P99Ms, Verdict: string(e.Verdict),
	}
}

// errNoRun is all that the page says of a run that is not in the history: it reads no other files.
var errNoRun = errors.New("there is no such run in the history")

// Load gives runs of the history by their ids. Of two, the older is A.
func (p Past) Load(ids []string) (page.Data, error) {
	store := Store(p.IO)
	if store == nil {
		return page.Data{}, errNoRun
	}
	var sides []compare.Side
	for _, id := range ids {
		res, err := store.Get(id)
		if err != nil {
			return page.Data{}, errNoRun
		}
		sides = append(sides, compare.Side{Name: id, Run: res})
	}
	slices.SortStableFunc(sides, func(a, b compare.Side) int { return cmp.Compare(a.Run.StartUnixNs, b.Run.StartUnixNs) })
	return Page(sides)
}
