// Package servermetrics reads the Prometheus metrics of a server during a level and writes them in AIPerf's formats:
// server_metrics_export.json, .csv and .jsonl, and gpu_telemetry_export.jsonl for NVIDIA's DCGM exporter.
//
// Pages are added to series and dropped, so that memory does not grow with the run. A counter becomes its difference over the
// measured phase, a gauge the distribution of its values, a histogram the difference of its buckets, with percentiles.
package servermetrics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/scrape"
)

// Config says what to read.
type Config struct {
	URLs []string
	// Interval is the time between two pages; 0 is AIPerf's third of a second.
	Interval time.Duration
	// Raw, when set, is shown every page of the measured phase, as lines of server_metrics_export.jsonl, or with GPUs of
	// gpu_telemetry_export.jsonl.
	Raw  func(lines []byte) error
	GPUs bool
}

// usual is the interval of AIPerf.
const usual = 333 * time.Millisecond

// foldEvery is how often the pages that came are folded.
const foldEvery = 5 * usual

// Watch reads the pages of a level.
type Watch struct {
	cfg    Config
	pages  []*endpoint
	cancel context.CancelFunc
	done   sync.WaitGroup
	rawErr error
}

// endpoint is one address and what it said.
type endpoint struct {
	url    string
	poller *scrape.Poller

	mu       sync.Mutex
	families map[string]*family
	fetches  int
	updates  int
	first    time.Time
	last     time.Time
	update   time.Time // the last that changed something
	gaps     []float64 // between those, in milliseconds
	took     time.Duration
	seen     uint64 // the page before
}

// Start reads every page once, so that an address that does not answer is known before the load, and continues until Stop.
func Start(ctx context.Context, cfg Config) (*Watch, error) {
	if cfg.Interval <= 0 {
		cfg.Interval = usual
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{cfg: cfg, cancel: cancel}
	for _, u := range cfg.URLs {
		e := &endpoint{url: scrape.Complete(u), families: map[string]*family{}}
		e.poller = scrape.New(scrape.Config{URL: e.url, Interval: cfg.Interval})
		if err := e.poller.Start(ctx); err != nil {
			cancel()
			for _, other := range w.pages {
				other.poller.Stop()
			}
			return nil, fmt.Errorf("read the metrics of %s: %w", u, err)
		}
		w.pages = append(w.pages, e)
	}
	w.done.Go(func() { clock.Every(ctx, foldEvery, w.take) })
	return w, nil
}

// Begin starts the measured phase: what came before is the state that counters are compared with.
func (w *Watch) Begin() {
	if w == nil {
		return
	}
	for _, e := range w.pages {
		e.mu.Lock()
		e.poll()
		for _, p := range e.poller.Take().Pages {
			e.add(p, false)
		}
		e.reset()
		e.mu.Unlock()
	}
}

// Stop ends reading. What was read can still be written.
func (w *Watch) Stop() {
	if w == nil {
		return
	}
	w.cancel()
	w.done.Wait()
	for _, e := range w.pages {
		e.poll()
		e.poller.Stop()
	}
	w.take()
}

// poll reads the page once more, so that counters are those of the phase to the last request. A server that does not answer any more
// adds no page.
func (e *endpoint) poll() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	e.poller.Poll(ctx)
}

// take folds the pages that came.
func (w *Watch) take() {
	for _, e := range w.pages {
		e.mu.Lock()
		w.fold(e, e.poller.Take().Pages)
		e.mu.Unlock()
	}
}

func (w *Watch) fold(e *endpoint, pages []*scrape.Page) {
	for _, p := range pages {
		if e.add(p, true) && w.cfg.Raw != nil && w.rawErr == nil {
			form := rawLine
			if w.cfg.GPUs {
				form = gpuLines
			}
			w.rawErr = w.cfg.Raw(form(e.url, p))
		}
	}
}

// reset makes what was read so far the reference of counters and nothing more.
func (e *endpoint) reset() {
	for _, f := range e.families {
		for _, s := range f.series {
			s.begin()
		}
	}
	e.fetches, e.updates, e.took, e.gaps = 0, 0, 0, nil
}

// add folds one page. It reports whether the page says something else than the one before.
func (e *endpoint) add(p *scrape.Page, measured bool) bool {
	now := fingerprint(p)
	fresh := now != e.seen || e.updates == 0
	e.seen = now
	if measured {
		if e.fetches++; e.fetches == 1 {
			e.first, e.update = p.At, p.At
		} else if fresh {
			if len(e.gaps) < keep {
				e.gaps = append(e.gaps, float64(p.At.Sub(e.update))/1e6)
			}
			e.update = p.At
		}
		if fresh {
			e.updates++
		}
		e.last = p.At
		e.took += p.Took
	}
	at := p.At.UnixNano()
	for i := range p.Samples {
		s := &p.Samples[i]
		name, part, kind := role(p, s.Name)
		if name == "" {
			continue
		}
		f := e.families[name]
		if f == nil {
			f = &family{kind: kind, help: help(p, name, s.Name), series: map[string]*series{}}
			e.families[name] = f
		}
		f.add(s, part, at, measured)
	}
	for _, f := range e.families {
		f.end(at, measured)
	}
	return fresh
}

// help is the description of a family.
func help(p *scrape.Page, name, sample string) string {
	for _, n := range []string{name, sample, name + "_total"} {
		if h := p.Help[n]; h != "" {
			return h
		}
	}
	return ""
}

// kind is the type of a family, in AIPerf's words.
type kind string

const (
	gauge     kind = "gauge"
	counter   kind = "counter"
	histogram kind = "histogram"
	unknown   kind = "unknown"
)

// role finds the family of a sample, and which part of a histogram it is. Summaries and times of creation are left out,
// as AIPerf does.
func role(p *scrape.Page, name string) (of, part string, k kind) {
	if strings.HasSuffix(name, "_created") {
		return "", "", ""
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && (p.Types[base] == "histogram" || p.Types[base] == "summary") {
			if p.Types[base] == "summary" {
				return "", "", ""
			}
			return base, suffix, histogram
		}
	}
	declared := p.Types[name]
	base, total := strings.CutSuffix(name, "_total")
	if declared == "" && total {
		declared = p.Types[base]
	}
	switch declared {
	case "counter":
		return base, "", counter
	case "gauge":
		return name, "", gauge
	case "summary", "histogram":
		return "", "", ""
	}
	return name, "", unknown
}

// labelKey names a series by its labels, le left out.
func labelKey(labels []scrape.Label) (string, []scrape.Label) {
	kept := slices.DeleteFunc(slices.Clone(labels), func(l scrape.Label) bool { return l.Name == "le" })
	slices.SortFunc(kept, func(a, b scrape.Label) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	for _, l := range kept {
		b.WriteString(l.Name)
		b.WriteByte(0)
		b.WriteString(l.Value)
		b.WriteByte(0)
	}
	return b.String(), kept
}
