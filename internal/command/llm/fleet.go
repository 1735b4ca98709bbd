package llm

import (
	"context"
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
)

// checkWorkers names the first option that has no meaning without --workers.
func (o *options) checkWorkers() error {
	for _, row := range o.Fleet.Rows() {
		if o.Fleet.Workers == "" && o.table.Given(row.Long) {
			return fmt.Errorf("--%s is for --workers, which says how many workers make the load", row.Long)
		}
	}
	return nil
}

// checkFleet names what has no meaning with --workers.
func (p *Plan) checkFleet(f *plan.Faults) {
	if p.Fleet.Workers == "" {
		return
	}
	f.When(!p.Segment.Whole(), "--segment is one part of a load that you divide yourself; leave it out, --workers divides the load")
	f.When(p.Calibrate, "--calibrate measures this machine's error, not that of the workers: leave it out, or --workers")
	f.When(p.Outcome.TraceRequests > 0, "--trace-requests cannot be used with --workers")
}

// oneMachine refuses --workers for a command that makes its load on one machine.
func (p *Plan) oneMachine(command string) error {
	if p.Fleet.Workers != "" {
		return fmt.Errorf("--workers is for redline llm, redline profile and redline find profile; %s makes its load on one machine", command)
	}
	return nil
}

// workers are the workers of a run; the zero value is a run without workers.
type workers struct {
	fleet plan.Fleet
	bus   *coordinator.Bus
	run   *fleet.Run
}

// close lets the workers go, and removes what NATS has of the run.
func (w *workers) close() {
	if w.run != nil {
		w.run.End(context.Background()) // also after an interrupt
	}
	w.bus.Close()
}

// connectFleet connects to NATS. It does nothing without --workers.
func (r *run) connectFleet() (err error) {
	if r.opts.Fleet.Workers == "" {
		return nil
	}
	if r.workers.fleet, err = coordinator.Named(r.opts.Fleet); err != nil {
		return err
	}
	r.workers.bus, err = coordinator.Open(r.sigs.Soft, r.IO, r.workers.fleet.NATS)
	return err
}

// gather has the workers prepare. It does nothing without --workers.
func (r *run) gather() error {
	w := &r.workers
	if w.bus == nil {
		return nil
	}
	task, err := r.task()
	if err != nil {
		return err
	}
	w.run, err = fleet.Gather(r.sigs.Soft, w.bus.Bus, coordinator.Config(r.IO, fleet.Config{
		Fleet: w.fleet, Command: "llm", Line: r.table.Command("redline llm"), Task: task,
	}))
	return err
}

// task is what the workers get: the options without those that only the coordinator needs, and the files that they name.
func (r *run) task() (*fleet.Task, error) {
	o := options{Plan: *r.opts}
	rows := slices.Concat(o.Outcome.Rows(), o.outputRows(), o.Fleet.Rows())
	t := &fleet.Task{Advice: "give the key with --api-key-env NAME, which each worker reads from its own environment"}
	t.Options, t.Secrets, t.Names = r.table.Withhold(func(row *option.Row) bool {
		return row.Long == "embedded" || slices.ContainsFunc(rows, func(other option.Row) bool { return other.Name() == row.Name() })
	})
	for i, arg := range t.Options {
		name, value, _ := strings.Cut(arg, "=")
		path, files, err := r.inputFiles(strings.TrimPrefix(name, "--"), value)
		if err != nil {
			return nil, fmt.Errorf("send the files of %s to the workers: %w", name, err)
		}
		if path == "" {
			continue
		}
		t.Options[i] = name + "=" + path
		t.Inputs, t.Files = append(t.Inputs, t.Options[i]), append(t.Files, files...)
	}
	if o.Embedded {
		t.Options = append(t.Options, "--url="+r.urls[0])
	}
	if o.Data.Format != "" && !r.table.Given("custom-dataset-type") { // --input-file payload:FILE, whose path is sent
		t.Options = append(t.Options, "--custom-dataset-type="+string(o.Data.Format))
	}
	return t, nil
}

// inputFiles is the path that the value of an option names, and the files and folders there that a worker needs. The path is empty if
// the option names none.
func (r *run) inputFiles(option, value string) (path string, files []string, err error) {
	switch option {
	case "input-file", "input-data":
		path = r.opts.Data.Path
	case "tokenizer", "tokenizer-path":
		if path = value; !exists(path) {
			path = downloaded(value, r.Getenv)
		}
		files, err = tokenizerFiles(path)
		return path, files, err
	case "image-source":
		path = r.opts.Data.Media.ImageDir
	case "template":
		if !strings.Contains(value, "{") { // a template without a brace is a file
			path = value
		}
	case "system-prompt-file", "request-rate-series":
		path = value
	}
	return path, []string{path}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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

// phaseOrder is a phase of the load as a worker gets it: of which measurement of which level.
type phaseOrder struct {
	Step   int `json:"step"`
	Repeat int `json:"repeat"`
	load.Order
}

// levelFleet is the workers as the load of one measurement of a level.
type levelFleet struct {
	*fleet.Run
	step, repeat int
}

var _ load.Fleet = levelFleet{}

// Begin implements load.Fleet.
func (f levelFleet) Begin(ctx context.Context, o load.Order, starts func(at int64)) error {
	return f.BeginPhase(ctx, phaseOrder{Step: f.step, Repeat: f.repeat, Order: o}, starts)
}

// useFleet has the workers make the load of a measurement. It does nothing without --workers.
func (w *workers) useFleet(cfg *load.Config, step, repeat int) {
	if w.run != nil {
		cfg.Fleet = levelFleet{w.run, step, repeat}
	}
}

// levelEnded lets go of the records of a measurement.
func (w *workers) levelEnded() error {
	if works := w.run != nil && w.run.Broken() == nil; !works { // the level says why workers cannot go on
		return nil
	}
	return w.run.Ended(nil, nil)
}
