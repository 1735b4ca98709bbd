package model

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// errFixed refuses to load and unload.
var errFixed = infer.Errorf(infer.Unavailable, "models are fixed: start the server with --model-control-mode explicit to load and unload them")

// Load loads a model, or loads it again; override, if not empty, replaces its configuration.
func (r *Repository) Load(name, override string) error {
	if !r.opts.Explicit {
		return errFixed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[name]
	if e == nil && override == "" {
		return infer.Errorf(infer.Internal, "failed to load '%s', failed to poll from model repository", name)
	}
	var cfg *kserve.ModelConfig
	if override != "" {
		var err error
		if cfg, err = parseOverride(override, name, e); err != nil {
			return bad("failed to load '%s', %v", name, err)
		}
	}
	if e == nil {
		e = &entry{source: source{config: cfg, have: []int64{1}}}
		r.entries[name] = e
	}
	if err := r.load(name, cfg); err != nil {
		return bad("load failed for model '%s': %v", name, err)
	}
	return nil
}

// parseOverride reads the JSON configuration of a load request. Missing tensors come from the model, as Triton reads them from the
// model's file.
func parseOverride(text, name string, e *entry) (*kserve.ModelConfig, error) {
	cfg := &kserve.ModelConfig{}
	if err := protojson.Unmarshal([]byte(text), cfg); err != nil {
		return nil, err
	}
	if cfg.GetName() == "" {
		cfg.Name = name
	}
	if e != nil && e.source.config != nil && cfg.GetEnsembleScheduling() == nil {
		own := e.source.config
		if len(cfg.GetInput()) == 0 && len(cfg.GetOutput()) == 0 {
			cfg.Input, cfg.Output = own.GetInput(), own.GetOutput()
			if cfg.GetMaxBatchSize() == 0 {
				cfg.MaxBatchSize = own.GetMaxBatchSize()
			}
			if len(cfg.GetParameters()) == 0 {
				cfg.Parameters = own.GetParameters()
			}
		}
		if b := cfg.GetBackend(); b == "" || !slices.Contains(backend.Names(), b) && strings.HasPrefix(own.GetPlatform(), b) {
			cfg.Backend, cfg.Platform = own.GetBackend(), own.GetPlatform()
		}
	}
	return cfg, complete(cfg)
}
