package kserve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// maxDepth bounds the nesting of ensembles, so that a server whose models name each other in a circle ends in
// an error and not in a flood of requests.
const maxDepth = 32

// Describe asks the source for the model of the target and everything that it is made of. A server without model configurations
// states the tensors alone, and perhaps not even those.
func Describe(ctx context.Context, src Source, t plan.Target) (*service.Model, error) {
	meta, err := src.Metadata(ctx, t.Model, t.Version)
	if err != nil {
		return nil, relabel(err, OpMetadata)
	}
	cfg, err := config(ctx, src, t)
	if err != nil {
		return nil, err
	}
	unconfigured := cfg == nil
	if unconfigured {
		cfg = &Config{}
	}
	m := &service.Model{
		Name: t.Model, Version: t.Version, Platform: cfg.Platform, Unconfigured: unconfigured,
		MaxBatch: cfg.MaxBatch, Decoupled: cfg.Decoupled, OwnCache: cfg.Cache, MaxQueueDelay: cfg.QueueDelay,
	}
	if m.Platform == "" {
		m.Platform = meta.Platform
	}
	if m.Inputs, err = specs("input", meta.Inputs, cfg.Inputs, cfg.MaxBatch); err != nil {
		return nil, err
	}
	if m.Outputs, err = specs("output", meta.Outputs, cfg.Outputs, cfg.MaxBatch); err != nil {
		return nil, err
	}
	w := walk{src: src, cache: cfg.Cache}
	if err := w.model(ctx, m, cfg, t.ComposingModels); err != nil {
		return nil, relabel(err, OpParse)
	}
	m.Cache = w.cache
	m.Scheduler = scheduler(cfg, len(m.Composing) > 0, w.sequence)
	ext, err := extensions(ctx, src, t, !unconfigured)
	if err != nil {
		return nil, err
	}
	m.Statistics, m.BinaryData = slices.Contains(ext, StatsExt), slices.Contains(ext, binaryExt)
	return m, nil
}

// config asks for the model's configuration; it is nil if the server has none.
func config(ctx context.Context, src Source, t plan.Target) (*Config, error) {
	if t.Extensions == plan.NoExtensions {
		return nil, nil
	}
	cfg, err := src.Config(ctx, t.Model, t.Version)
	switch {
	case err == nil:
		return cfg, nil
	case t.Extensions == plan.NeedExtensions || !Refused(err):
		return nil, relabel(err, OpConfig)
	case absent(err):
		return nil, nil
	}
	ext, xerr := src.Extensions(ctx)
	if xerr == nil && slices.Contains(ext, configExt) {
		return nil, relabel(err, OpConfig)
	}
	return nil, nil
}

// extensions asks for the list of the server's extensions. Servers may not have the list.
func extensions(ctx context.Context, src Source, t plan.Target, configured bool) ([]string, error) {
	if t.Extensions == plan.NoExtensions {
		return nil, nil
	}
	ext, err := src.Extensions(ctx)
	if err != nil && (t.Extensions == plan.NeedExtensions || !Refused(err)) {
		return nil, relabel(err, OpServer)
	}
	if configured && len(ext) == 0 && t.Extensions == "" { // a Triton behind something that hides the list
		return []string{StatsExt, binaryExt}, nil
	}
	return ext, nil
}

// Remarks say what a run against a server without Triton's extensions lacks. asJSON: tensors go as JSON because of that.
func Remarks(m *service.Model, policy plan.Extensions, asJSON bool) []string {
	if m == nil || policy == plan.NeedExtensions {
		return nil
	}
	var lines []string
	if !m.Statistics {
		lines = append(lines, "no server-side times: the server does not list the extension statistics")
	}
	if asJSON {
		lines = append(lines, "tensors go as JSON: the server does not list the extension binary_tensor_data (--input-tensor-format, --output-tensor-format)")
	}
	return lines
}

// Refused tells whether a server answered that it does not give what it was asked for.
func Refused(err error) bool {
	e, ok := errors.AsType[*service.Error](err)
	return ok && e.Class == record.Server
}

// NotListed is the error of a server that has no list of its models; other errors are left as they are.
func NotListed(err error) error {
	if !absent(err) {
		return err
	}
	return &service.Error{Op: OpList, Class: record.Server, Text: "the server does not list its models", Err: err}
}

// absent tells whether a server does not know the request at all: servers may list extensions that they do not have.
func absent(err error) bool {
	e, ok := errors.AsType[*service.Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity, http.StatusNotImplemented, int(codes.Unimplemented):
		return true
	}
	return false
}

// relabel keeps the error and says what was being done when it happened.
func relabel(err error, op string) error {
	if se, ok := errors.AsType[*service.Error](err); ok {
		c := *se
		c.Op = op
		return &c
	}
	return &service.Error{Op: op, Class: record.Protocol, Err: err}
}

func parseError(format string, args ...any) error {
	return &service.Error{Op: OpParse, Class: record.Protocol, Text: fmt.Sprintf(format, args...)}
}

// specs joins metadata (types and shapes) with the configuration (flags). The batch dimension is dropped.
func specs(role string, meta []TensorMetadata, cfg []TensorConfig, maxBatch int) ([]service.TensorSpec, error) {
	out := make([]service.TensorSpec, 0, len(meta))
	for _, t := range meta {
		dt, ok := tensor.ParseDatatype(t.Datatype)
		if !ok || dt == tensor.JSON {
			return nil, parseError("unknown datatype '%s' of %s tensor %s", t.Datatype, role, t.Name)
		}
		if slices.ContainsFunc(out, func(s service.TensorSpec) bool { return s.Name == t.Name }) {
			return nil, parseError("the metadata names %s tensor %s twice", role, t.Name)
		}
		shape := t.Shape
		if maxBatch > 0 {
			if len(shape) == 0 {
				return nil, parseError("%s tensor %s has no batch dimension although the model batches", role, t.Name)
			}
			shape = shape[1:]
		}
		out = append(out, service.TensorSpec{Name: t.Name, Type: dt, Shape: slices.Clone(tensor.Shape(shape))})
	}
	for _, c := range cfg {
		i := slices.IndexFunc(out, func(s service.TensorSpec) bool { return s.Name == c.Name })
		if i < 0 {
			return nil, &service.Error{Op: OpParse, Class: record.Protocol, Err: service.NoTensorMetadata.With(role, c.Name)}
		}
		out[i].Optional, out[i].ShapeTensor = c.Optional, c.ShapeTensor
	}
	return out, nil
}

func scheduler(cfg *Config, composed, sequence bool) service.Scheduler {
	switch {
	case composed && sequence:
		return service.EnsembleWithSequence
	case composed:
		return service.Ensemble
	case cfg.Sequence:
		return service.SequenceBatcher
	case cfg.Dynamic:
		return service.DynamicBatcher
	}
	return service.NoScheduler
}

// walk visits composing models and gathers what they imply for the whole.
type walk struct {
	src      Source
	cache    bool
	sequence bool
}

// model fills m.Composing: first the models that the user named as called by a BLS model, then an ensemble's steps.
func (w *walk) model(ctx context.Context, m *service.Model, cfg *Config, bls []plan.ModelRef) error {
	for _, r := range bls {
		part, err := w.part(ctx, r.Name, r.Version, 1)
		if err != nil {
			return err
		}
		m.Composing = add(m.Composing, part)
	}
	steps, err := w.steps(ctx, cfg, 1)
	for _, part := range steps {
		m.Composing = add(m.Composing, part)
	}
	return err
}

// steps visits the steps of an ensemble; other models have none.
func (w *walk) steps(ctx context.Context, cfg *Config, depth int) ([]service.Composing, error) {
	if cfg.Platform != ensembleTag {
		return nil, nil
	}
	var parts []service.Composing
	for _, s := range cfg.Steps {
		part, err := w.part(ctx, s.Model, version(s.Version), depth)
		if err != nil {
			return nil, err
		}
		parts = add(parts, part)
	}
	return parts, nil
}

func (w *walk) part(ctx context.Context, name, version string, depth int) (service.Composing, error) {
	c := service.Composing{Name: name, Version: version}
	if depth > maxDepth {
		return c, parseError("ensembles are nested more than %d deep at model %s", maxDepth, name)
	}
	cfg, err := w.src.Config(ctx, name, version)
	if err != nil {
		return c, err
	}
	w.cache = w.cache || cfg.Cache
	w.sequence = w.sequence || cfg.Sequence
	c.Parts, err = w.steps(ctx, cfg, depth+1)
	return c, err
}

// add appends a part unless it is there already: a model that is called twice is counted once.
func add(parts []service.Composing, p service.Composing) []service.Composing {
	if slices.ContainsFunc(parts, func(o service.Composing) bool { return o.Name == p.Name && o.Version == p.Version }) {
		return parts
	}
	return append(parts, p)
}

func version(v int64) string {
	if v < 0 {
		return ""
	}
	return strconv.FormatInt(v, 10)
}
