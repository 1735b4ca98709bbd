package llm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/llm/artifact/servermetrics"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/watch"
)

// checkScrapeForms reads the files of --server-metrics.
func checkScrapeForms(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); name {
		case "json", "csv", "jsonl":
		case "parquet":
			return errors.New("is json, csv or jsonl: server metrics are not written as Parquet")
		default:
			return fmt.Errorf("is a list of json, csv and jsonl, not %q", name)
		}
	}
	return nil
}

// exporters are the addresses at which a DCGM exporter usually is, its own and Dynamo's.
var exporters = []string{"localhost:9400", "localhost:9401"}

// findPages sets the pages of options that name none: the server's own, and those of exporters on this machine that answer.
func (r *traffic) findPages() error {
	o := r.opts
	if o.Outcome.OwnMetrics {
		for _, u := range r.urls {
			page := r.metricsOf(u)
			if err := scrape.Try(r.sigs.Soft, page); err != nil {
				return fmt.Errorf("--server-metrics: %w; give the address of the metrics, or leave out the option", err)
			}
			r.pages = append(r.pages, page)
		}
	}
	if !o.FindGPUs {
		return nil
	}
	for _, address := range exporters {
		if scrape.Try(r.sigs.Soft, address) == nil {
			r.gpus = append(slices.Clip(r.gpus), address)
		}
	}
	if len(r.gpus) == 0 {
		return fmt.Errorf("--gpu-telemetry: no DCGM exporter answers at %s: give its address, or leave out the option", strings.Join(exporters, " or "))
	}
	return nil
}

// metricsOf is the page of metrics of a server: Triton has it on a port of its own.
func (r *traffic) metricsOf(address string) string {
	if r.embedded != nil {
		return r.embedded.Address("metrics")
	}
	page := ""
	if k := api.Kind(r.opts.Kind); k.GRPC() || k == api.Generate {
		page = kind.Of(plan.Triton).MetricsPage
	}
	return target.MetricsPage(address, page)
}

// server is what is read of the server besides its answers.
func (r *traffic) server() outcome.Server {
	s := outcome.Server{Model: r.plan.Target.Model, More: r.gpus}
	for _, u := range r.urls {
		s.Own = append(s.Own, r.metricsOf(u))
	}
	return s
}

// watched is server for a run, which also writes files of what is read.
func (r *session) watched() outcome.Server {
	s := r.server()
	s.Whole = r.opts.reads()
	return s
}

// gpuPages reads a value of --gpu-telemetry. AIPerf's words that are no address are answered.
func gpuPages(v string) ([]string, error) {
	list := strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ' ' })
	for _, page := range list {
		switch {
		case page == "dashboard":
			return nil, errors.New("is the address of an exporter: use --dash for a live page")
		case page == "pynvml", page == "amdsmi", strings.HasSuffix(page, ".csv"):
			return nil, fmt.Errorf("is the address of NVIDIA's DCGM exporter, as localhost:9400, not %q", page)
		}
	}
	return list, nil
}

// reader gets the pages that are read during one measurement; nil gets none.
type reader struct {
	pages *servermetrics.Watch
	raw   *pending.File // gets every page; nil: none does
	stop  func()
}

// read starts to collect pages. file is where every page goes; empty: nowhere.
func (r *session) read(cfg servermetrics.Config, file string) (*reader, error) {
	p := &reader{}
	if file != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return nil, err
		}
		var err error
		if p.raw, err = r.Files.Create(file); err != nil {
			return nil, err
		}
		cfg.Raw = func(lines []byte) error {
			_, err := p.raw.Write(lines)
			return err
		}
	}
	p.pages = servermetrics.New(cfg)
	p.stop = r.watch().Follow(p.pages.Add)
	return p, nil
}

// watch is what reads the metrics of the server.
func (r *session) watch() *watch.Watch {
	if r.together != nil {
		return r.together.Watch
	}
	return r.outcome.Watch()
}

func (p *reader) begin() {
	if p != nil {
		p.pages.Begin()
	}
}

// abort leaves nothing behind.
func (p *reader) abort() {
	if p == nil {
		return
	}
	p.stop()
	if p.raw != nil {
		p.raw.Abort()
	}
}

// close ends the collection, and writes what f says.
func (p *reader) close(f *servermetrics.File) error {
	if p == nil {
		return nil
	}
	p.stop()
	err := p.pages.Write(f)
	if p.raw != nil {
		err = errors.Join(err, p.raw.Commit())
	}
	return err
}

// serverPages are the server's own metrics and those of its GPUs during one measurement.
type serverPages struct {
	metrics, gpus *reader
	file          servermetrics.File
	read          func() // reads the pages once more: counters are then those of this moment
}

// watchServer starts to read the pages.
func (r *session) watchServer(index, n int, lv load.Level) (*serverPages, error) {
	o, p := r.opts, &serverPages{read: func() {}}
	if !o.reads() {
		return p, nil
	}
	p.read = func() { r.watch().Read(r.sigs.Hard) }
	dir := r.folder(index, n, lv)
	var err error
	if urls := slices.Concat(o.Outcome.ServerMetrics, r.pages); len(urls) > 0 {
		forms := strings.Split(o.ScrapeForms, ",")
		if o.ScrapeForms == "" {
			forms = []string{"json", "csv"}
		}
		p.file = servermetrics.File{
			Dir: dir, Prefix: o.Prefix, JSON: slices.Contains(forms, "json"), CSV: slices.Contains(forms, "csv"), Run: o.Outcome.Label, Asked: r.asked(lv), Output: r.Files,
		}
		file := ""
		if slices.Contains(forms, "jsonl") {
			file = filepath.Join(dir, servermetrics.Name(o.Prefix, ".jsonl"))
		}
		if p.metrics, err = r.read(servermetrics.Config{URLs: urls}, file); err != nil {
			return nil, fmt.Errorf("--server-metrics: %w", err)
		}
	}
	if len(r.gpus) > 0 {
		if p.gpus, err = r.read(servermetrics.Config{URLs: r.gpus, GPUs: true}, filepath.Join(dir, servermetrics.GPUName(o.Prefix))); err != nil {
			p.metrics.abort()
			return nil, fmt.Errorf("--gpu-telemetry: %w", err)
		}
	}
	return p, nil
}

// begin tells that the measured phase starts.
func (p *serverPages) begin() {
	p.read()
	p.metrics.begin()
	p.gpus.begin()
}

func (p *serverPages) abort() {
	p.metrics.abort()
	p.gpus.abort()
}

// close writes the files.
func (p *serverPages) close(out *load.Outcome) error {
	p.read()
	p.file.Begin, p.file.End = out.Level.Windows[0].StartUnixNs, out.Level.Windows[0].EndUnixNs
	return errors.Join(p.metrics.close(&p.file), p.gpus.close(&servermetrics.File{}))
}

// telemetry is what the GPUs did; nil where they were not asked. Close comes first.
func (p *serverPages) telemetry(out *load.Outcome) any {
	if p.gpus == nil {
		return nil
	}
	return p.gpus.pages.Telemetry(out.Level.Windows[0].StartUnixNs, out.Level.Windows[0].EndUnixNs)
}
