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
	if o.outcome.OwnMetrics && o.own == nil {
		for _, u := range o.urls {
			page := r.metricsOf(u)
			if err := r.tryPage(page); err != nil {
				return fmt.Errorf("--server-metrics: %w; give the address of the metrics, or leave out the option", err)
			}
			o.own = append(o.own, page)
		}
	}
	if !o.findGPUs {
		return nil
	}
	for _, address := range exporters {
		if r.tryPage(address) == nil {
			o.gpus = append(o.gpus, address)
		}
	}
	if o.findGPUs = false; len(o.gpus) == 0 {
		return fmt.Errorf("--gpu-telemetry: no DCGM exporter answers at %s: give its address, or leave out the option", strings.Join(exporters, " or "))
	}
	return nil
}

// tryPage reads a page once.
func (r *traffic) tryPage(address string) error {
	w, err := servermetrics.Start(r.sigs.Soft, servermetrics.Config{URLs: []string{address}})
	if err == nil {
		w.Stop()
	}
	return err
}

// metricsOf is the page of metrics of a server: Triton has it on a port of its own.
func (r *traffic) metricsOf(address string) string {
	if r.embedded != nil {
		return r.embedded.Address("metrics")
	}
	page := ""
	if k := api.Kind(r.opts.kind); k.GRPC() || k == api.Generate {
		page = kind.Of(plan.Triton).MetricsPage
	}
	return target.MetricsPage(address, page)
}

// server is what is read of the server besides its answers.
func (r *traffic) server() outcome.Server {
	s := outcome.Server{Model: r.plan.Target.Model, More: r.opts.gpus}
	for _, u := range r.opts.urls {
		s.Own = append(s.Own, r.metricsOf(u))
	}
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

// reader reads pages during one measurement, every one of which a file may get; nil reads none.
type reader struct {
	watch *servermetrics.Watch
	raw   *pending.File
}

// read starts to read pages. File is where every page goes; empty: nowhere.
func (r *run) read(cfg servermetrics.Config, file string) (*reader, error) {
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
	var err error
	if p.watch, err = servermetrics.Start(r.sigs.Soft, cfg); err != nil {
		p.abort()
		return nil, err
	}
	return p, nil
}

func (p *reader) begin() {
	if p != nil {
		p.watch.Begin()
	}
}

// abort leaves nothing behind.
func (p *reader) abort() {
	if p == nil {
		return
	}
	p.watch.Stop()
	if p.raw != nil {
		p.raw.Abort()
	}
}

// close ends the reading, and writes what f says.
func (p *reader) close(f *servermetrics.File) error {
	if p == nil {
		return nil
	}
	p.watch.Stop()
	err := p.watch.Write(f)
	if p.raw != nil {
		err = errors.Join(err, p.raw.Commit())
	}
	return err
}

// serverPages are the server's own metrics and those of its GPUs during one measurement.
type serverPages struct {
	metrics, gpus *reader
	file          servermetrics.File
}

// watchServer starts to read the pages.
func (r *run) watchServer(index, n int, lv load.Level) (*serverPages, error) {
	o, p := r.opts, &serverPages{}
	if !o.reads() {
		return p, nil
	}
	dir := r.folder(index, n, lv)
	var err error
	if urls := slices.Concat(o.outcome.ServerMetrics, o.own); len(urls) > 0 {
		forms := strings.Split(o.scrapeForms, ",")
		if o.scrapeForms == "" {
			forms = []string{"json", "csv"}
		}
		p.file = servermetrics.File{
			Dir: dir, Prefix: o.prefix, JSON: slices.Contains(forms, "json"), CSV: slices.Contains(forms, "csv"), Run: o.outcome.Label, Asked: r.asked(lv), Output: r.Files,
		}
		file := ""
		if slices.Contains(forms, "jsonl") {
			file = filepath.Join(dir, servermetrics.Name(o.prefix, ".jsonl"))
		}
		if p.metrics, err = r.read(servermetrics.Config{URLs: urls}, file); err != nil {
			return nil, fmt.Errorf("--server-metrics: %w", err)
		}
	}
	if len(o.gpus) > 0 {
		if p.gpus, err = r.read(servermetrics.Config{URLs: o.gpus, GPUs: true}, filepath.Join(dir, servermetrics.GPUName(o.prefix))); err != nil {
			p.metrics.abort()
			return nil, fmt.Errorf("--gpu-telemetry: %w", err)
		}
	}
	return p, nil
}

// begin tells that the measured phase starts.
func (p *serverPages) begin() {
	p.metrics.begin()
	p.gpus.begin()
}

func (p *serverPages) abort() {
	p.metrics.abort()
	p.gpus.abort()
}

// close writes the files.
func (p *serverPages) close(out *load.Outcome) error {
	p.file.Begin, p.file.End = out.Level.Windows[0].StartUnixNs, out.Level.Windows[0].EndUnixNs
	return errors.Join(p.metrics.close(&p.file), p.gpus.close(&servermetrics.File{}))
}

// telemetry is what the GPUs did; nil where they were not asked. Close comes first.
func (p *serverPages) telemetry(out *load.Outcome) any {
	if p.gpus == nil {
		return nil
	}
	return p.gpus.watch.Telemetry(out.Level.Windows[0].StartUnixNs, out.Level.Windows[0].EndUnixNs)
}
