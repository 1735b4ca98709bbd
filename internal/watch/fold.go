package watch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/scrape"
)

// endpoint is one address and what its last page said. Counters are kept from level to level.
type endpoint struct {
	url    string // without secrets
	full   string // complete address, with secrets
	poller *scrape.Poller
	model  string // samples of other models of the server are left out

	last     time.Time // of the last page
	counters map[string]float64
	started  float64 // process_start_time_seconds; 0 if the page does not have it

	reads, failed, resets, restarts int
	failure                         error
	gap                             time.Duration // the longest between two pages
	restarted                       time.Time
	lines                           map[string]*line // by quantity and GPU
	others                          map[string]*other
	left                            int // metrics that were too many to keep
	leftLines                       int // lines that were too many to keep
}

// other is a metric without a common name.
type other struct {
	counter bool
	cell
}

// Limits of what is kept of one endpoint, whatever its pages contain.
const (
	mostOthers   = 400    // metrics without a common name
	mostLines    = 500    // quantities, times GPUs
	mostCounters = 20_000 // counters that the last page does not have
	mostValue    = 1e100  // sums of such values are finite
)

// begin starts a level: counters stay as they are.
func (e *endpoint) begin() {
	e.reads, e.failed, e.resets, e.restarts, e.failure, e.gap = 0, 0, 0, 0, nil, 0
	e.lines, e.others, e.left, e.leftLines = map[string]*line{}, map[string]*other{}, 0, 0
}

// fold adds one page to the axis.
func (e *endpoint) fold(a *axis, p *scrape.Page) {
	e.reads++
	g := &page{endpoint: e, axis: a, page: p, at: p.At.UnixNano(), grown: map[*scrape.Sample]float64{}, byName: map[string][]*scrape.Sample{}}
	if !e.last.IsZero() {
		g.from = e.last.UnixNano()
		e.gap = max(e.gap, p.At.Sub(e.last))
	}
	e.last = p.At
	g.read()
	used := map[string]bool{}
	for i := range quantities {
		q := &quantities[i]
		for j := range q.sources {
			if g.add(q, &q.sources[j], used) {
				break
			}
		}
	}
	g.addOthers(used)
}

// page is one page while it is folded.
type page struct {
	*endpoint
	axis     *axis
	page     *scrape.Page
	from, at int64 // since the page before; from is 0 for the first
	byName   map[string][]*scrape.Sample
	grown    map[*scrape.Sample]float64 // increases of counters
}

// read compares the counters of the page with those before.
func (g *page) read() {
	smaller, larger, started := 0, 0, 0.0
	now := make(map[string]float64, len(g.counters))
	for i := range g.page.Samples {
		s := &g.page.Samples[i]
		if !g.usable(s) {
			continue
		}
		name := strings.TrimSuffix(s.Name, "_total")
		g.byName[name] = append(g.byName[name], s)
		if s.Name == startTime {
			started = max(started, s.Value) // a page may have several processes
		}
		if !g.counts(s) {
			continue
		}
		key := identity(s)
		now[key] = s.Value
		before, known := g.counters[key]
		switch {
		case g.from == 0:
		case !known && countsBefore(s): // its first value is where it begins
		case !known: // a series that appears during a level began at 0
			g.grown[s] = s.Value
		case s.Value < before: // as Prometheus: the counter began again at 0
			g.grown[s] = s.Value
			smaller++
		default:
			g.grown[s] = s.Value - before
			larger++
		}
	}
	g.keepMissing(now)
	g.noteStart(started)
	g.judgeResets(smaller, larger)
}

// keepMissing makes now the counters. A counter that the page lacks keeps its value: when a later page has the counter again, the
// increase counts from there and not from 0.
func (g *page) keepMissing(now map[string]float64) {
	for key, v := range g.counters {
		if _, ok := now[key]; !ok && len(now) < mostCounters {
			now[key] = v
		}
	}
	g.counters = now
}

// usable reports whether a sample counts: it has a value, and it is of the model of the run.
func (g *page) usable(s *scrape.Sample) bool {
	return math.Abs(s.Value) <= mostValue && g.ofModel(s) && kept(s.Name)
}

// startTime is the metric of a process's start, which many servers have.
const startTime = "process_start_time_seconds"

// noteStart notes the start of the newest process; 0 if the page does not have it.
func (g *page) noteStart(v float64) {
	if g.started != 0 && v > g.started {
		g.restarts++
		g.restarted = g.page.At
	}
	g.started = max(g.started, v)
}

// judgeResets tells a restart, after which most counters are smaller, from counters that were reset.
func (g *page) judgeResets(smaller, larger int) {
	switch {
	case smaller == 0 || g.restarted.Equal(g.page.At): // the start time says it
	case smaller > 1 && g.started == 0 && smaller*2 >= smaller+larger:
		g.restarts++
		g.restarted = g.page.At
	default:
		g.resets += smaller
	}
}

// ofModel reports whether a sample of Triton belongs to the model of the run. Composing models have samples of their own.
func (g *page) ofModel(s *scrape.Sample) bool {
	model := s.Label("model")
	return !strings.HasPrefix(s.Name, "nv_") || model == "" || g.model == "" || model == g.model
}

// counts reports whether a sample only grows. Triton's older versions declare counters as gauges, so the table counts too.
func (g *page) counts(s *scrape.Sample) bool {
	base := strings.TrimSuffix(s.Name, "_total")
	switch {
	case tableCounters[base], g.page.Types[s.Name] == "counter", g.page.Types[base] == "counter":
		return true
	}
	for _, suffix := range []string{"_sum", "_count"} {
		if f, ok := strings.CutSuffix(s.Name, suffix); ok && (g.page.Types[f] == "histogram" || g.page.Types[f] == "summary") {
			return true
		}
	}
	return false
}

// countsBefore reports whether a counter ran before the page had it. Those of DCGM are kept by the GPU or its driver, since it was
// loaded; others belong to the process whose page it is.
func countsBefore(s *scrape.Sample) bool { return strings.HasPrefix(s.Name, "DCGM_") }

// tableCounters are the counters that the table names.
var tableCounters = func() map[string]bool {
	all := map[string]bool{}
	for _, q := range quantities {
		for _, s := range q.sources {
			if s.form != gauge {
				all[s.metric] = true
			}
			for _, n := range s.per {
				all[n] = true
			}
		}
	}
	return all
}()

// add adds the samples of a source to the lines of its quantity; false if the page has none.
func (g *page) add(q *quantity, src *source, used map[string]bool) bool {
	groups := map[string][]*scrape.Sample{}
	for _, s := range g.byName[src.metric] {
		if !matches(s, src.where) {
			continue
		}
		of := ""
		if q.together == apart {
			of = gpuOf(s)
		}
		groups[of] = append(groups[of], s)
	}
	if len(groups) == 0 {
		return false
	}
	used[src.metric] = true
	for _, n := range src.per {
		used[n] = true
	}
	for _, of := range slices.Sorted(maps.Keys(groups)) {
		g.addGroup(q, src, of, groups[of])
	}
	return true
}

func (g *page) addGroup(q *quantity, src *source, of string, samples []*scrape.Sample) {
	key := q.name + "\x00" + of
	l := g.lines[key]
	if l == nil {
		if len(g.lines) >= mostLines {
			g.leftLines++
			return
		}
		l = g.axis.add(&line{of: of, from: src.metric})
		g.lines[key] = l
	}
	scale := cmp.Or(src.scale, 1)
	sum, known := 0.0, false
	for _, s := range samples {
		if src.form == gauge {
			sum += s.Value
			continue
		}
		grown, ok := g.grown[s]
		sum, known = sum+grown, known || ok
	}
	switch src.form {
	case gauge:
		if q.together == averaged {
			sum /= float64(len(samples))
		}
		g.axis.point(l, g.at, sum*scale)
	case rate:
		if known {
			g.axis.spread(l, g.from, g.at, sum*scale, seconds(g.at-g.from))
		}
	case ratio:
		per := 0.0
		for _, name := range src.per {
			for _, s := range g.byName[name] {
				per += g.grown[s]
			}
		}
		if g.from != 0 && per > 0 {
			g.axis.spread(l, g.from, g.at, sum*scale, per)
		}
	}
}

// addOthers adds the metrics that the table does not name.
func (g *page) addOthers(used map[string]bool) {
	for i := range g.page.Samples {
		s := &g.page.Samples[i]
		base := strings.TrimSuffix(s.Name, "_total")
		if used[base] || s.Name == startTime || s.Label("quantile") != "" || !g.usable(s) {
			continue
		}
		key := identity(s)
		o := g.others[key]
		if o == nil {
			if len(g.others) >= mostOthers {
				g.left++
				continue
			}
			o = &other{counter: g.counts(s)}
			g.others[key] = o
		}
		if !o.counter {
			o.add(s.Value, 1, s.Value)
		} else if grown, ok := g.grown[s]; ok && g.at > g.from {
			d := seconds(g.at - g.from)
			highest := grown / d
			if d < interval.Seconds()/2 { // too short for a rate
				highest = o.max
			}
			o.add(grown, d, highest)
		}
	}
}

// identity is a sample's name with its labels in their order.
func identity(s *scrape.Sample) string {
	if len(s.Labels) == 0 {
		return s.Name
	}
	var b strings.Builder
	b.WriteString(s.Name)
	for i, l := range s.Labels {
		b.WriteByte("{,"[min(i, 1)])
		fmt.Fprintf(&b, "%s=%q", l.Name, l.Value)
	}
	b.WriteByte('}')
	return b.String()
}

// kept reports whether a metric is used. The buckets of histograms are left out: sum and count remain.
func kept(name string) bool {
	return !strings.HasSuffix(name, "_bucket") && !strings.HasSuffix(name, "_created")
}

func matches(s *scrape.Sample, where string) bool {
	name, value, ok := strings.Cut(where, "=")
	return !ok || s.Label(name) == value
}

func gpuOf(s *scrape.Sample) string {
	i := slices.IndexFunc(gpuLabels, func(name string) bool { return s.Label(name) != "" })
	if i < 0 {
		return ""
	}
	return s.Label(gpuLabels[i])
}
