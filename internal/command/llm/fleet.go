package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command/coordinator"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// checkFleet names what has no meaning with --workers.
func (p *Plan) checkFleet(f *plan.Faults) {
	if p.Fleet.Workers == "" {
		return
	}
	f.When(!p.Segment.Whole(), "--segment is one part of a load that you divide yourself; leave it out, --workers divides the load")
	f.When(p.Calibrate, "--calibrate measures this machine's error, not that of the workers: leave it out, or --workers")
	f.When(p.Outcome.TraceRequests > 0, "--trace-requests cannot be used with --workers")
}

// workers are the workers of a run; the zero value is a run without workers.
type workers struct {
	fleet plan.Fleet
	bus   *coordinator.Bus // nil in a class of a scenario, which shares the workers with the others
	run   *fleet.Run
	// taken: the run was taken up. keep leaves what NATS has of it when it ends: its result is not written yet.
	taken, keep bool
}

// close lets the workers go, and removes what NATS has of the run unless it is kept.
func (w *workers) close() {
	w.bus.Leave(w.run, w.keep)
	w.bus.Close()
}

// connect connects to NATS. It does nothing without --workers.
func (w *workers) connect(t *traffic) (err error) {
	if t.opts.Fleet.Workers == "" || w.bus != nil {
		return nil
	}
	if w.fleet, err = coordinator.Named(t.opts.Fleet); err != nil {
		return err
	}
	w.bus, err = coordinator.Open(t.sigs.Soft, t.IO, w.fleet.NATS)
	return err
}

// gather has the workers prepare. It does nothing without --workers.
func (w *workers) gather(t *traffic, command string) error {
	if w.bus == nil {
		return nil
	}
	task, err := t.task()
	if err != nil {
		return err
	}
	if w.taken {
		return w.run.Resume(t.sigs.Soft, t.opts.Fleet, nil, task)
	}
	w.run, err = fleet.Gather(t.sigs.Soft, w.bus.Bus, coordinator.Config(t.IO, fleet.Config{
		Fleet: w.fleet, Command: command, Line: t.table.Command("redline " + command), Task: task,
	}))
	return err
}

// task is what the workers get: the plan without what only the coordinator needs, and the files that it names.
func (r *traffic) task() (*fleet.Task, error) {
	var rest options
	left := slices.Concat(rest.Outcome.Rows(), rest.outputRows(), rest.Fleet.Rows())
	public, secrets, names := r.table.Withhold(func(row *option.Row) bool {
		return slices.ContainsFunc(left, func(other option.Row) bool { return other.Name() == row.Name() })
	})
	t := &fleet.Task{Names: names, Kept: r.kept(), Advice: "give the key with --api-key-env NAME, which each worker reads from its own environment"}
	p := r.written.forWorkers()
	for i, arg := range public {
		switch {
		case secrets[i] != "":
			p.Secrets, t.Secrets = append(p.Secrets, arg), append(t.Secrets, secrets[i])
		case strings.HasPrefix(arg, "--url=") && slices.Contains(names, "--url"): // the addresses of secrets replace all others
			t.Secrets = append(t.Secrets, arg)
		}
	}
	p.Data.Estimate = r.data.Estimate
	if r.opts.Embedded {
		p.Embedded, p.URLs = false, r.urls[:1]
	}
	for _, path := range p.paths() {
		files := []string{*path}
		if path == &p.Tokenizer {
			_, err := os.Stat(*path)
			if err != nil {
				*path = downloaded(*path, r.Getenv)
			}
			if files, err = tokenizerFiles(*path); err != nil {
				return nil, fmt.Errorf("send the files of --tokenizer to the workers: %w", err)
			}
		}
		t.Files = append(t.Files, files...)
	}
	var err error
	t.Own, err = json.Marshal(p)
	return t, err
}

// forWorkers is the plan without what only the coordinator does.
func (p *Plan) forWorkers() *Plan {
	return p.with(func(p *Plan) {
		p.Outcome, p.Fleet, p.Secrets = plan.DefaultOutcome(), plan.Fleet{}, nil
		p.Artifacts, p.Prefix, p.Exports, p.ExportLevel, p.ScrapeForms, p.Outputs = "", "", "", "", "", false
		p.GPUs, p.FindGPUs, p.SliceEvery, p.Verbose = nil, false, 0, false
	})
}

// paths are the fields that name files and folders of the load.
func (p *Plan) paths() []*string {
	list := []*string{&p.Data.Path, &p.Tokenizer, &p.Data.Media.ImageDir, &p.SystemFile}
	if !strings.Contains(p.Template, "{") { // a template without a brace is a file
		list = append(list, &p.Template)
	}
	return slices.DeleteFunc(list, func(path *string) bool { return *path == "" })
}

// kept are the options that a coordinator needs that takes the run up. Files and pages are named anew, and so is NATS.
func (r *traffic) kept() []string {
	o := options{Plan: *r.opts}
	left := slices.Concat(o.outputRows(), o.Outcome.Rows(), o.Fleet.NATS.Rows(""))
	public, _, _ := r.table.Withhold(func(row *option.Row) bool {
		return row.Long != "assert" && row.Long != "label" && slices.ContainsFunc(left, func(other option.Row) bool { return other.Name() == row.Name() })
	})
	return public
}

// tokenizerFiles are the files of a tokenizer. The folder of a model may have its weights besides, which no worker needs.
func tokenizerFiles(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	for _, pattern := range []string{"*.json", "*.jinja", "*.tiktoken", "*.model", filepath.Join("additional_chat_templates", "*.jinja")} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// phaseOrder is a phase of the load as a worker gets it: of which measurement of which level. A search has no such levels: Load is the
// level that it has chosen.
type phaseOrder struct {
	Step   int         `json:"step"`
	Repeat int         `json:"repeat"`
	Load   *load.Level `json:"load,omitempty"`
	load.Order
}

// useFleet has the workers make the load of a measurement. It does nothing without --workers.
func (w *workers) useFleet(cfg *load.Config, level phaseOrder) {
	if w.run == nil {
		return
	}
	cfg.Fleet = w.run.Open
	cfg.Phase = func(o load.Order) any {
		level.Order = o
		return level
	}
}

// levelEnded keeps a level that is over for a coordinator that takes the run up, and lets go of its records. The level of a search is nil.
func (w *workers) levelEnded(ctx context.Context, lv *result.Level, limits []result.Reason) error {
	if works := w.run != nil && w.run.Broken() == nil; !works { // the level says why workers cannot go on
		return nil
	}
	return w.run.Ended(ctx, lv, limits)
}

// known are the levels that were over when the run was taken up.
func (w *workers) known() []run.Done {
	if !w.taken {
		return nil
	}
	return w.run.Known()
}
