package rest

import (
	"context"
	"math"
	"net/url"
	"strconv"

	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

func modelPath(model, version string) string {
	p := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		p += "/versions/" + url.PathEscape(version)
	}
	return p
}

// Metadata asks for a model's tensors.
func (s *Service) Metadata(ctx context.Context, model, version string) (*kserve.Metadata, error) {
	const op = kserve.OpMetadata
	v, err := s.do(ctx, call{op: op, path: modelPath(model, version)})
	if err != nil {
		return nil, err
	}
	m := &kserve.Metadata{Name: text(v, "name"), Platform: text(v, "platform"), Versions: list(v, "versions")}
	var ok [2]bool
	m.Inputs, ok[0] = tensors(v, "inputs")
	m.Outputs, ok[1] = tensors(v, "outputs")
	switch {
	case m.Name == "":
		return nil, s.badReply(op, "it has no name", nil)
	case !ok[0]:
		return nil, s.badReply(op, "its inputs are not a list of tensors with name, datatype and shape", nil)
	case !ok[1]:
		return nil, s.badReply(op, "its outputs are not a list of tensors with name, datatype and shape", nil)
	}
	return m, nil
}

func tensors(v jsonscan.Value, name string) ([]kserve.TensorMetadata, bool) {
	a, _ := v.Get(name)
	if a.Kind() != jsonscan.Array {
		return nil, false
	}
	out := make([]kserve.TensorMetadata, 0, a.Len())
	for e := range a.Elements() {
		t := kserve.TensorMetadata{Name: text(e, "name"), Datatype: text(e, "datatype")}
		shape, _ := e.Get("shape")
		if t.Name == "" || t.Datatype == "" || shape.Kind() != jsonscan.Array {
			return nil, false
		}
		for d := range shape.Elements() {
			n, ok := integer(d)
			if !ok {
				return nil, false
			}
			t.Shape = append(t.Shape, n)
		}
		out = append(out, t)
	}
	return out, true
}

// Config asks for a model's configuration.
func (s *Service) Config(ctx context.Context, model, version string) (*kserve.Config, error) {
	const op = kserve.OpConfig
	v, err := s.do(ctx, call{op: op, path: modelPath(model, version) + "/config"})
	if err != nil {
		return nil, err
	}
	c := &kserve.Config{Name: text(v, "name"), Platform: text(v, "platform")}
	batch, found := v.Get("max_batch_size")
	n, ok := integer(batch)
	if found && (!ok || n < 0 || n > math.MaxInt32) {
		return nil, s.badReply(op, "its max_batch_size is not a number of requests", nil)
	}
	c.MaxBatch = int(n)
	c.Inputs, c.Outputs = parts(v, "input"), parts(v, "output")
	c.Sequence, c.Dynamic = object(v, "sequence_batching"), object(v, "dynamic_batching")
	policy, _ := v.Get("model_transaction_policy")
	c.Decoupled = truth(policy, "decoupled")
	cache, _ := v.Get("response_cache")
	c.Cache = truth(cache, "enable")
	ensemble, _ := v.Get("ensemble_scheduling")
	steps, _ := ensemble.Get("step")
	for e := range steps.Elements() {
		step := kserve.Step{Model: text(e, "model_name"), Version: -1}
		if ver, found := e.Get("model_version"); found {
			if step.Version, ok = integer(ver); !ok {
				return nil, s.badReply(op, "an ensemble step has a model_version that is not a number", nil)
			}
		}
		c.Steps = append(c.Steps, step)
	}
	return c, nil
}

func parts(v jsonscan.Value, name string) []kserve.TensorConfig {
	a, _ := v.Get(name)
	var out []kserve.TensorConfig
	for e := range a.Elements() {
		out = append(out, kserve.TensorConfig{
			Name: text(e, "name"), Optional: truth(e, "optional"), ShapeTensor: truth(e, "is_shape_tensor"),
		})
	}
	return out
}

// Extensions asks the server what it can do.
func (s *Service) Extensions(ctx context.Context) ([]string, error) {
	v, err := s.do(ctx, call{op: kserve.OpServer, path: "/v2"})
	if err != nil {
		return nil, err
	}
	return list(v, "extensions"), nil
}

func text(v jsonscan.Value, name string) string {
	m, _ := v.Get(name)
	return string(m.AppendText(nil))
}

func truth(v jsonscan.Value, name string) bool {
	m, _ := v.Get(name)
	return m.True()
}

// object tells whether there is such a member: an empty one says as much as a full one.
func object(v jsonscan.Value, name string) bool {
	m, _ := v.Get(name)
	return m.Kind() == jsonscan.Object
}

func list(v jsonscan.Value, name string) []string {
	a, _ := v.Get(name)
	var out []string
	for e := range a.Elements() {
		out = append(out, string(e.AppendText(nil)))
	}
	return out
}

// integer reads a whole number, which JSON made from protocol buffers may also write as a string.
func integer(v jsonscan.Value) (int64, bool) {
	if v.Kind() == jsonscan.String {
		n, err := strconv.ParseInt(string(v.AppendText(nil)), 10, 64)
		return n, err == nil
	}
	return v.Int64()
}
