package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/dash"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
)

// liveEvery is how often the live page and the metrics are renewed: looking at a run must not cost it much.
const liveEvery = time.Second

// lastLook is how long the live page stays after the run, so that browsers see its end.
const lastLook = 1500 * time.Millisecond

// live shows a run to others while it goes on. A nil live shows nothing.
type live struct {
	page    *dash.Server
	metrics *dash.Metrics
	res     result.Result // what is over
	last    time.Time
}

// openLive starts what the options ask for; it is nil when they ask for nothing.
func (p *IO) openLive(ctx context.Context, opts plan.Outcome) (*live, error) {
	if !opts.Dash && opts.MetricsListen == "" {
		return nil, nil //nolint:nilnil // a nil live is one that shows nothing
	}
	l := &live{}
	if opts.Dash {
		s, err := dash.Listen(ctx, opts.DashListen, pastRuns{p}, p.Secrets)
		if err != nil {
			return nil, fmt.Errorf("%w; --dash-listen takes another address", err)
		}
		l.page = s
		s.Show(&page.View{Name: "redline", Live: true, Levels: []page.LevelView{}})
		fmt.Fprintf(p.Stderr, "live page: %s\n", s.URL())
	}
	if opts.MetricsListen != "" {
		m, err := dash.ListenMetrics(ctx, opts.MetricsListen, p.Secrets)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("%w; --metrics-listen takes another address", err)
		}
		l.metrics = m
		fmt.Fprintf(p.Stderr, "metrics: %s\n", m.URL())
	}
	return l, nil
}

// begin tells what the run is about.
func (l *live) begin(command string, pl *plan.Plan) {
	if l != nil {
		l.res = result.Result{Tool: "redline", Command: command, Plan: pl, StartUnixNs: time.Now().UnixNano()}
	}
}

// progress shows the level in progress, not too often. now makes it.
func (l *live) progress(now func() *result.Level) {
	if l == nil || now == nil || time.Since(l.last) < liveEvery {
		return
	}
	l.last = time.Now()
	l.show(now())
}

// levelEnds keeps a level that is over.
func (l *live) levelEnds(lv *result.Level) {
	if l == nil {
		return
	}
	l.res.Levels = append(l.res.Levels, *lv)
	l.show(nil)
}

func (l *live) show(current *result.Level) {
	res := l.res
	res.EndUnixNs = time.Now().UnixNano()
	if current != nil {
		res.Levels = append(slices.Clip(res.Levels), *current)
		if l.metrics != nil {
			l.metrics.Show(l.res.Plan.Target.Model, current)
		}
	}
	if l.page != nil {
		v := page.NewView(runName(&res), &res)
		v.Live = true
		l.page.Show(v)
	}
}

// end shows the finished run for a moment, so that open pages get it, and closes.
func (l *live) end(ctx context.Context, res *result.Result) {
	if l == nil {
		return
	}
	if l.page != nil {
		l.page.Show(page.NewView(runName(res), res))
		select {
		case <-time.After(lastLook):
		case <-ctx.Done():
		}
	}
	l.close()
}

func (l *live) close() {
	if l == nil {
		return
	}
	if l.page != nil {
		_ = l.page.Close() // nothing is left to report it to
	}
	if l.metrics != nil {
		_ = l.metrics.Close()
	}
}

// pastRuns is the history as the dashboard sees it.
type pastRuns struct{ *IO }

// List gives the runs, the newest first.
func (p pastRuns) List() ([]page.Item, error) {
	store := p.historyStore()
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
		ID: e.ID, Start: e.Start.Local().Format(time.DateTime), Command: e.Command, Label: e.Label, Model: e.Model, Levels: e.Levels,
		Throughput: e.Best, P99: e.P99Ms, Verdict: string(e.Verdict),
	}
}

// errNoRun is all that the page says of a run that is not in the history: it reads no other files.
var errNoRun = errors.New("there is no such run in the history")

// Load gives runs of the history by their ids.
func (p pastRuns) Load(ids []string) (page.Data, error) {
	store := p.historyStore()
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
	return pageOf(sides)
}
