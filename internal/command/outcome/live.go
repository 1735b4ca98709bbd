package outcome

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/dash"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/watch"
)

// liveEvery is how often the live page and the metrics are renewed: looking at a run must not cost it much.
const liveEvery = time.Second

// lastLook is how long the live page stays after the run, so that a browser that just drew a state can ask for the last.
const lastLook = 1500 * time.Millisecond

// live shows a run to others while it goes on. A nil live shows nothing.
type live struct {
	page    *dash.Server
	metrics *dash.Metrics

	announce func() // names the addresses, once: when the load runs, and not where a check ends the run before

	mu   sync.Mutex    // the classes of a scenario report from goroutines of their own
	res  result.Result // what is over
	last time.Time
}

// openLive starts what the options ask for; it is nil when they ask for nothing.
func openLive(ctx context.Context, p *command.IO, opts plan.Outcome, t *telemetries) (*live, error) {
	if !opts.Dash && opts.MetricsListen == "" {
		return nil, nil //nolint:nilnil // a nil live is one that shows nothing
	}
	l := &live{}
	if opts.Dash {
		s, err := dash.Listen(ctx, opts.DashListen, runs.Past{IO: p}, p.Secrets)
		if err != nil {
			return nil, fmt.Errorf("%w; use --dash-listen to choose another address", err)
		}
		l.page = s
		s.Show(&page.View{Name: "redline", Live: true, Levels: []page.LevelView{}})
	}
	if opts.MetricsListen != "" {
		m, err := dash.ListenMetrics(ctx, opts.MetricsListen, p.Secrets, t.tally, t.run...)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("%w; use --metrics-listen to choose another address", err)
		}
		l.metrics = m
	}
	l.announce = sync.OnceFunc(func() {
		if l.page != nil {
			fmt.Fprintf(p.Stderr, "live page: %s\n", l.page.URL())
		}
		if l.metrics != nil {
			fmt.Fprintf(p.Stderr, "metrics: %s\n", l.metrics.URL())
		}
	})
	return l, nil
}

// progress shows the level in progress, not too often. now makes it.
func (l *live) progress(now func() *result.Level, server *watch.Watch) {
	if l == nil || now == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.last) < liveEvery {
		return
	}
	l.last = time.Now()
	lv := now()
	lv.ServerMetrics = server.Now(lv)
	l.show(lv)
}

// searching keeps how far a search has come. The first state is shown at once, the others with the level in progress.
func (l *live) searching(f *result.Find) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.res.Find == nil
	l.res.Find = f
	if first {
		l.show(nil)
	}
}

// levelEnds keeps a level that is over.
func (l *live) levelEnds(lv *result.Level) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.res.Levels = append(l.res.Levels, *lv)
	l.show(nil)
}

func (l *live) show(current *result.Level) {
	l.announce()
	res := l.res
	res.EndUnixNs = time.Now().UnixNano()
	if current != nil {
		res.Levels = append(slices.Clip(res.Levels), *current)
		if l.metrics != nil {
			model := ""
			if l.res.Plan != nil { // a scenario has one for each class
				model = l.res.Plan.Target.Model
			}
			l.metrics.Show(model, current)
		}
	}
	if l.page != nil {
		v := page.NewView(runs.Name(&res), &res)
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
		l.page.Show(page.NewView(runs.Name(res), res))
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
