package model

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/pause"
)

// AnyMethod is the name, in Options.Delays, of all methods of a server that answers any.
const AnyMethod = "any-method"

// Options sets up a repository.
type Options struct {
	Clock *pause.Clock
	Seed  uint64
	Pace  pause.Tokens // of language models that do not set their own
	// Dirs are model repositories on disk, besides the built-in models.
	Dirs []string
	// NoBuiltin leaves the built-in models out.
	NoBuiltin bool
	// Explicit loads only the models named in Load, and allows loading and unloading later; "*" in Load names all.
	Explicit bool
	Load     []string
	// Delays fixes the time of every response of a model. The names torchserve and AnyMethod need no model.
	Delays map[string]time.Duration
}

// Repository is the set of models, loaded or not. Make one with Open.
type Repository struct {
	opts Options

	mu      sync.RWMutex
	entries map[string]*entry
}

// entry is one model that the repository knows.
type entry struct {
	source source
	models []*Model // loaded versions, oldest first
	reason string
	state  string
	busy   bool // it is being loaded
}

const stateReady, stateUnavailable = "READY", "UNAVAILABLE" // of the repository extension

// Open reads all configurations and loads the models that are to be loaded.
func Open(opts Options) (*Repository, error) {
	r := &Repository{opts: opts, entries: map[string]*entry{}}
	if !opts.NoBuiltin {
		dir, err := fs.Sub(builtin, "builtin")
		if err == nil {
			err = r.read(dir, "")
		}
		if err != nil {
			return nil, err
		}
	}
	for _, dir := range opts.Dirs {
		if err := r.read(os.DirFS(dir), dir); err != nil {
			return nil, err
		}
	}
	for name := range opts.Delays {
		if r.entries[name] == nil && name != "torchserve" && name != AnyMethod {
			return nil, fmt.Errorf("a delay is set for model '%s', which is not there; see the names at /v2/repository/index", name)
		}
	}
	names := slices.Sorted(maps.Keys(r.entries))
	if r.opts.Explicit && !slices.Contains(r.opts.Load, "*") {
		names = r.opts.Load
	}
	for _, name := range names {
		if e := r.entries[name]; e != nil && len(e.models) > 0 {
			continue // an ensemble has brought it along
		}
		if err := r.load(name, nil); err != nil {
			r.Close()
			return nil, fmt.Errorf("load model '%s': %w", name, err)
		}
	}
	return r, nil
}

// Get finds a loaded model; an empty version is the newest.
func (r *Repository) Get(name, version string) (*Model, error) {
	want := int64(-1)
	if version != "" {
		var err error
		if want, err = strconv.ParseInt(version, 10, 64); err != nil || want < 0 {
			return nil, infer.Errorf(infer.BadVersion, "the version of a model is a number, not '%s'", version)
		}
	}
	return r.current(name, want)
}

// current finds a loaded model; a version below 0 is the newest.
func (r *Repository) current(name string, version int64) (*Model, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.find(name, version)
}

func (r *Repository) find(name string, version int64) (*Model, error) {
	e := r.entries[name]
	if e == nil || e.state == "" {
		return nil, infer.Errorf(infer.NotFound, "Request for unknown model: '%s' is not found", name)
	}
	if version < 0 {
		if len(e.models) == 0 {
			return nil, infer.Errorf(infer.NotFound, "Request for unknown model: '%s' has no available versions", name)
		}
		return e.models[len(e.models)-1], nil
	}
	for _, m := range e.models {
		if m.Version == version {
			return m, nil
		}
	}
	return nil, infer.Errorf(infer.NotFound, "Request for unknown model: '%s' version %d is not found", name, version)
}

// Versions lists the loaded versions of a model, oldest first.
func (r *Repository) Versions(name string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []string
	if e := r.entries[name]; e != nil {
		for _, m := range e.models {
			out = append(out, m.VersionText())
		}
	}
	return out
}

// Models lists all loaded models by name and version.
func (r *Repository) Models() []*Model {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []*Model
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		out = append(out, r.entries[name].models...)
	}
	return out
}

// Entry is one line of the repository's index.
type Entry struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Index lists all models by name, or only those that are ready.
func (r *Repository) Index(ready bool) []Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Entry
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		e := r.entries[name]
		for _, m := range e.models {
			out = append(out, Entry{Name: name, Version: m.VersionText(), State: stateReady})
		}
		if len(e.models) == 0 && !ready {
			line := Entry{Name: name, State: e.state, Reason: e.reason}
			if n := len(e.source.have); e.state == stateUnavailable && n > 0 {
				line.Version = strconv.FormatInt(e.source.have[n-1], 10)
			}
			out = append(out, line)
		}
	}
	return out
}

// load loads a model, and for an ensemble its steps. The caller holds the lock, except before the repository is shared.
func (r *Repository) load(name string, override *kserve.ModelConfig) error {
	e := r.entries[name]
	if e == nil {
		return fmt.Errorf("it is not in the repository; see the names at /v2/repository/index")
	}
	cfg := e.source.config
	if override != nil {
		cfg = override
	}
	if e.source.err != nil && override == nil {
		e.state, e.reason = stateUnavailable, e.source.err.Error()
		return e.source.err
	}
	if e.busy {
		return fmt.Errorf("ensemble '%s' is a step of itself", name)
	}
	e.busy = true
	defer func() { e.busy = false }()
	for _, s := range cfg.GetEnsembleScheduling().GetStep() {
		if part := r.entries[s.GetModelName()]; part != nil && len(part.models) == 0 {
			if err := r.load(s.GetModelName(), nil); err != nil {
				return err
			}
		}
	}
	var fresh []*Model
	for _, version := range chooseVersions(slices.Clone(e.source.have), cfg.GetVersionPolicy()) {
		m, err := build(proto.CloneOf(cfg), version, r)
		if err != nil {
			e.state, e.reason = stateUnavailable, err.Error()
			return err
		}
		fresh = append(fresh, m)
	}
	go closeAll(e.models) // requests that are in it still finish
	e.models, e.state, e.reason = fresh, stateReady, ""
	return nil
}

// Unload drops a model. Triton accepts the unloading of an unknown one.
func (r *Repository) Unload(name string) error {
	if !r.opts.Explicit {
		return errFixed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[name]; e != nil && e.state != "" {
		go closeAll(e.models)
		e.models, e.state, e.reason = nil, stateUnavailable, "unloaded"
	}
	return nil
}

// Close unloads everything and returns when nothing runs.
func (r *Repository) Close() {
	r.mu.Lock()
	var all []*Model
	for _, e := range r.entries {
		all = append(all, e.models...)
		e.models = nil
	}
	r.mu.Unlock()
	closeAll(all)
}

// closeAll closes ensembles first, so that requests in progress still find their steps.
func closeAll(models []*Model) {
	slices.SortStableFunc(models, func(a, b *Model) int {
		return len(b.Config.GetEnsembleScheduling().GetStep()) - len(a.Config.GetEnsembleScheduling().GetStep())
	})
	for _, m := range models {
		m.close()
	}
}
