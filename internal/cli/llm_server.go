package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/llm/artifact/servermetrics"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/pending"
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

// serverPages reads the server's own metrics during one measurement; nil reads none.
type serverPages struct {
	watch *servermetrics.Watch
	raw   *pending.File
	file  servermetrics.File
}

// watchServer starts to read the pages.
func (r *llmRun) watchServer(index, n int, lv load.Level) (*serverPages, error) {
	o := r.opts
	if len(o.scrape) == 0 {
		return nil, nil
	}
	forms := strings.Split(o.scrapeForms, ",")
	if o.scrapeForms == "" {
		forms = []string{"json", "csv"}
	}
	p := &serverPages{file: servermetrics.File{
		Dir: r.folder(index, n, lv), Prefix: o.prefix, JSON: slices.Contains(forms, "json"), CSV: slices.Contains(forms, "csv"),
		Run: o.outcome.Label, Asked: r.asked(lv),
	}}
	cfg := servermetrics.Config{URLs: o.scrape}
	if slices.Contains(forms, "jsonl") {
		if err := os.MkdirAll(p.file.Dir, 0o777); err != nil {
			return nil, err
		}
		var err error
		if p.raw, err = pending.Create(filepath.Join(p.file.Dir, servermetrics.Name(o.prefix, ".jsonl"))); err != nil {
			return nil, err
		}
		cfg.Raw = func(line []byte) error {
			_, err := p.raw.Write(line)
			return err
		}
	}
	var err error
	if p.watch, err = servermetrics.Start(r.sigs.soft, cfg); err != nil {
		p.abort()
		return nil, fmt.Errorf("--server-metrics: %w", err)
	}
	return p, nil
}

// begin tells that the measured phase starts.
func (p *serverPages) begin() {
	if p != nil {
		p.watch.Begin()
	}
}

// abort leaves nothing behind.
func (p *serverPages) abort() {
	if p == nil {
		return
	}
	p.watch.Stop()
	if p.raw != nil {
		p.raw.Abort()
	}
}

// close writes the files.
func (p *serverPages) close(out *load.Outcome) error {
	if p == nil {
		return nil
	}
	p.watch.Stop()
	p.file.Begin, p.file.End = out.Level.Windows[0].StartUnixNs, out.Level.Windows[0].EndUnixNs
	err := p.watch.Write(&p.file)
	if p.raw != nil {
		err = errors.Join(err, p.raw.Commit())
	}
	return err
}
