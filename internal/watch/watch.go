// Package watch reads the metrics of servers and GPUs during a run and gives them common names, so that reports show the same
// quantities for every kind of server: what waits, what runs, batch size, caches, GPU use, power.
//
// A Watch reads each address at least twice a second from the start of the run to its end. Begin starts a level; Level is what was read
// since. The table of names is in names.go. Metrics that it does not name are kept by their own names, without their course over
// time. Pages are folded and dropped, so that memory does not grow with the run.
//
// A counter that becomes smaller began again at 0. A read that failed leaves a gap: counters are even over it, gauges have no value
// there. Both are counted and reported.
package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/secret"
)

const (
	// interval is the time between two reads of an address, wholeInterval that of AIPerf.
	interval      = 500 * time.Millisecond
	wholeInterval = 333 * time.Millisecond
	// lastRead limits a read that the load waits for, such as the one at the end of a level.
	lastRead = time.Second
	// maxPage limits a page: reading a larger one twice a second would take CPU from the load.
	maxPage = 16 << 20
)

// Watch reads addresses during a run. A nil Watch reads none.
type Watch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	interval time.Duration

	mu        sync.Mutex
	endpoints []*endpoint
	axis      *axis
	followers []*follower
}

// Config says what is read.
type Config struct {
	// Model is the model of the run: samples of Triton for other models are left out.
	Model string
	// Whole: followers get pages with the buckets of histograms, three times a second.
	Whole bool
}

// follower is what gets every page.
type follower struct {
	add func(url string, p *scrape.Page)
}

// Start reads every address once, so that one that does not answer is known before the load, and continues until Stop. An address without a path is completed by /metrics. An
// address that comes twice is read once: its values would be added twice.
func Start(ctx context.Context, addresses []string, cfg Config) (*Watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel, interval: interval}
	keep := kept
	if cfg.Whole {
		w.interval, keep = wholeInterval, nil
	}
	w.axis = w.newAxis()
	seen := map[string]bool{}
	for _, address := range addresses {
		page := scrape.Complete(address)
		if seen[page] {
			continue
		}
		seen[page] = true
		e := &endpoint{url: secret.PublicURL(address), full: page, model: cfg.Model, counters: map[string]float64{}}
		e.begin()
		e.poller = scrape.New(scrape.Config{URL: page, Interval: w.interval, Keep: keep, MaxBody: maxPage})
		if err := e.poller.Start(ctx); err != nil {
			w.Stop()
			return nil, fmt.Errorf("read the metrics of %s: %w", e.url, err)
		}
		w.endpoints = append(w.endpoints, e)
	}
	w.done.Go(func() { clock.Every(ctx, 2*w.interval, w.take) })
	return w, nil
}

func (w *Watch) newAxis() *axis { return &axis{start: time.Now().UnixNano(), step: int64(w.interval)} }

// Stop ends reading.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	w.cancel()
	w.done.Wait()
	for _, e := range w.endpoints {
		e.poller.Stop()
	}
}

// take folds the pages that came.
func (w *Watch) take() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fold()
}

func (w *Watch) fold() {
	for _, e := range w.endpoints {
		got := e.poller.Take()
		e.failed += got.Failed
		e.failure = cmp.Or(e.failure, got.Err)
		for _, p := range got.Pages {
			e.fold(w.axis, p)
			for _, f := range w.followers {
				f.add(e.full, p)
			}
		}
	}
}

// Follow gives every page that is read to add, with its complete address, until stop is called.
func (w *Watch) Follow(add func(url string, p *scrape.Page)) (stop func()) {
	if w == nil {
		return func() {}
	}
	f := &follower{add}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followers = append(w.followers, f)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.followers = slices.DeleteFunc(w.followers, func(other *follower) bool { return other == f })
	}
}

// Read reads the addresses once more. An address that does not answer in time adds no page.
func (w *Watch) Read(ctx context.Context) {
	if w == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastRead)
	defer cancel()
	var polls sync.WaitGroup
	for _, e := range w.endpoints {
		polls.Go(func() { e.poller.Poll(ctx) })
	}
	polls.Wait()
	w.take()
}

// Level returns what was read since the last level ended, and starts the next level. The level needs its windows and metrics.
// The addresses are read once more, so that counters include the last requests.
func (w *Watch) Level(ctx context.Context, lv *result.Level) *result.ServerMetrics {
	if w == nil {
		return nil
	}
	w.Read(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.level(lv)
	w.axis = w.newAxis()
	for _, e := range w.endpoints {
		e.begin()
	}
	return out
}

// Now returns what was read since the last level ended, for pages that show a run in progress.
func (w *Watch) Now(lv *result.Level) *result.ServerMetrics {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fold()
	return w.level(lv)
}

func (w *Watch) level(lv *result.Level) *result.ServerMetrics {
	out := &result.ServerMetrics{StartUnixNs: w.axis.start, StepNs: w.axis.step, Series: []result.ServerSeries{}}
	measured := measuredCells(w.axis, lv)
	for i := range quantities {
		q := &quantities[i]
		for _, e := range w.endpoints {
			for _, key := range slices.Sorted(maps.Keys(e.lines)) {
				if name, _, _ := strings.Cut(key, "\x00"); name == q.name {
					out.Series = append(out.Series, e.lines[key].result(q, measured))
				}
			}
		}
	}
	for _, e := range w.endpoints {
		e.report(out, w.axis.start)
	}
	energy(out, lv)
	return out
}

// measuredCells reports whether a step belongs to the windows that count. While a level goes on, and where these windows are
// shorter than a step, every step does.
func measuredCells(a *axis, lv *result.Level) func(i int) bool {
	used := lv.Windows[max(0, len(lv.Windows)-lv.Dead-lv.Used):max(0, len(lv.Windows)-lv.Dead)]
	if lv.Used == 0 || len(used) == 0 {
		return func(int) bool { return true }
	}
	from, to := used[0].StartUnixNs, used[len(used)-1].EndUnixNs
	if to-from < 2*a.step {
		from, to = from-a.step, to+a.step
	}
	return func(i int) bool {
		middle := a.start + int64(i)*a.step + a.step/2
		return middle >= from && middle < to
	}
}

func (l *line) result(q *quantity, measured func(int) bool) result.ServerSeries {
	out := result.ServerSeries{Name: q.name, Title: q.title, Unit: q.unit, From: l.from, Of: l.of, Values: make([]*float64, len(l.cells))}
	var all cell
	for i := range l.cells {
		c := &l.cells[i]
		v, ok := c.value()
		if !ok {
			continue
		}
		out.Values[i] = &v
		if measured(i) {
			all.add(c.sum, c.weight, max(v, c.max))
		}
	}
	out.Avg, out.Known = all.value()
	out.Max = all.max
	return out
}

// report adds the counts and remarks of an endpoint.
func (e *endpoint) report(out *result.ServerMetrics, start int64) {
	out.Reads += e.reads
	out.FailedReads += e.failed
	out.Resets += e.resets
	out.Restarts += e.restarts
	note := func(format string, args ...any) { out.Notes = append(out.Notes, fmt.Sprintf(format, args...)) }
	if e.failed > 0 {
		note("%d of %d reads of %s failed: %v; the longest time between two reads is %.1f s", e.failed, e.failed+e.reads, e.url, e.failure, e.gap.Seconds())
	}
	if e.restarts > 0 {
		note("the server at %s restarted %.1f s after the start of the level; its counters began again at 0, and what they counted between the last read and the restart is lost",
			e.url, seconds(e.restarted.UnixNano()-start))
	}
	if e.resets > 0 {
		note("%d counters of %s became smaller and were taken to begin again at 0", e.resets, e.url)
	}
	if e.left > 0 {
		note("%s has more than %d metrics without a common name; the others are left out", e.url, mostOthers)
	}
	if e.leftLines > 0 {
		note("%s has more than %d quantities and GPUs; the others are left out", e.url, mostLines)
	}
	if e.reads > 0 && len(e.lines) == 0 {
		note("no metric of %s has a common name", e.url)
	}
	for _, key := range slices.Sorted(maps.Keys(e.others)) {
		o := e.others[key]
		if avg, ok := o.value(); ok {
			v := result.ServerValue{Name: key, Avg: avg, Max: o.max}
			if o.counter {
				v.Unit = "/s"
			}
			out.Others = append(out.Others, v)
		}
	}
}

// energy divides the power of all GPUs by the throughput of the level.
func energy(out *result.ServerMetrics, lv *result.Level) {
	for i := range out.Series {
		if s := &out.Series[i]; s.Name == gpuPower && s.Known {
			out.PowerWatts += s.Avg
		}
	}
	if out.PowerWatts <= 0 {
		return
	}
	if lv.Client.InferPerSec > 0 {
		out.JoulesPerInference = out.PowerWatts / lv.Client.InferPerSec
	}
	if m := lv.Metric("output_token_throughput"); m != nil && m.Avg > 0 {
		out.JoulesPerToken = out.PowerWatts / m.Avg
	}
}
