// Package servermetrics writes the Prometheus metrics of a server during a level in AIPerf's formats:
// server_metrics_export.json, .csv and .jsonl, and gpu_telemetry_export.jsonl for NVIDIA's DCGM exporter.
//
// Package watch reads the pages. They are added to series and dropped, so that memory does not grow with the run. A counter becomes its difference over the
// measured phase, a gauge the distribution of its values, a histogram the difference of its buckets, with percentiles.
package servermetrics

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/scrape"
)

// Config says which pages are written.
type Config struct {
	URLs []string
	// Raw, when set, is shown every page of the measured phase, as lines of server_metrics_export.jsonl, or with GPUs of
	// gpu_telemetry_export.jsonl.
	Raw  func(lines []byte) error
	GPUs bool
}

// Watch collects the pages of a level.
type Watch struct {
	cfg Config

	mu       sync.Mutex
	pages    []*endpoint
	measured bool
	rawErr   error
}

// endpoint is one address and what it said.
type endpoint struct {
	url      string
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

// New makes a Watch without pages.
func New(cfg Config) *Watch {
	w := &Watch{cfg: cfg}
	for _, u := range cfg.URLs {
		w.pages = append(w.pages, &endpoint{url: scrape.Complete(u), families: map[string]*family{}})
	}
	return w
}

// Add adds a page of an address; those of other addresses are left out.
func (w *Watch) Add(url string, p *scrape.Page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.pages, func(e *endpoint) bool { return e.url == url })
	if i < 0 || !w.pages[i].add(p, w.measured) || !w.measured || w.cfg.Raw == nil || w.rawErr != nil {
		return
	}
	form := rawLine
	if w.cfg.GPUs {
		form = gpuLines
	}
	w.rawErr = w.cfg.Raw(form(url, p))
}

// Begin starts the measured phase: the pages before are the state that counters are compared with.
func (w *Watch) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.pages {
		e.reset()
	}
	w.measured = true
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
