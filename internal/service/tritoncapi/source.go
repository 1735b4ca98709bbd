//go:build native && cgo && linux

package tritoncapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
)

// anyVersion lets the server choose.
const anyVersion = -1

// version is the number that the C API wants. Without one the original means version 1; where that one is not
// loaded, the server chooses.
func (s *Service) version(model, version string) int64 {
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		return n
	}
	if ready, err := s.server.modelReady(model, 1); err == nil && ready {
		return 1
	}
	return anyVersion
}

// query asks for a document and decodes it.
func (s *Service) query(op string, q question, model string, version int64, into any) error {
	text, err := s.server.ask(q, model, version)
	if err != nil {
		return &service.Error{Op: op, Class: record.Server, Text: err.Error()}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &service.Error{Op: op, Class: record.Protocol, Text: fmt.Sprintf("malformed answer to %s from Triton: %v", op, err), Err: err}
	}
	return nil
}

// Metadata asks for a model's tensors.
func (s *Service) Metadata(_ context.Context, model, version string) (*kserve.Metadata, error) {
	var m kserve.Metadata // the members of the JSON object differ from its fields in case only
	return &m, s.query(kserve.OpMetadata, modelMetadata, model, s.version(model, version), &m)
}

// config is the part of the configuration's JSON that is looked at.
type config struct {
	Name     string
	Platform string
	MaxBatch int `json:"max_batch_size"`
	Input    []tensorConfig
	Output   []tensorConfig
	Sequence *struct{}                `json:"sequence_batching"`
	Dynamic  *struct{}                `json:"dynamic_batching"`
	Policy   struct{ Decoupled bool } `json:"model_transaction_policy"`
	Cache    struct{ Enable bool }    `json:"response_cache"`
	Ensemble struct {
		Step []struct {
			Name    string `json:"model_name"`
			Version number `json:"model_version"`
		}
	} `json:"ensemble_scheduling"`
}

type tensorConfig struct {
	Name        string
	Optional    bool
	ShapeTensor bool `json:"is_shape_tensor"`
}

// number is a whole number that may be written as a string, as JSON made from protocol buffers does.
type number struct {
	value int64
	set   bool
}

func (n *number) UnmarshalJSON(text []byte) (err error) {
	n.value, err = strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	n.set = err == nil
	return err
}

// Config asks for a model's configuration.
func (s *Service) Config(_ context.Context, model, version string) (*kserve.Config, error) {
	var c config
	if err := s.query(kserve.OpConfig, modelConfig, model, s.version(model, version), &c); err != nil {
		return nil, err
	}
	return c.model(), nil
}

func (c *config) model() *kserve.Config {
	out := &kserve.Config{
		Name: c.Name, Platform: c.Platform, MaxBatch: c.MaxBatch, Sequence: c.Sequence != nil, Dynamic: c.Dynamic != nil,
		Decoupled: c.Policy.Decoupled, Cache: c.Cache.Enable,
	}
	for _, t := range c.Input {
		out.Inputs = append(out.Inputs, kserve.TensorConfig(t))
	}
	for _, t := range c.Output {
		out.Outputs = append(out.Outputs, kserve.TensorConfig(t))
	}
	for _, st := range c.Ensemble.Step {
		step := kserve.Step{Model: st.Name, Version: anyVersion}
		if st.Version.set {
			step.Version = st.Version.value
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// Extensions asks the server what it can do.
func (s *Service) Extensions(context.Context) ([]string, error) {
	var m struct{ Extensions []string }
	return m.Extensions, s.query(kserve.OpServer, serverMetadata, "", anyVersion, &m)
}

// reason is why a model is not available, in Triton's words; empty where Triton has none.
func (s *Service) reason(model string) string {
	var index []struct{ Name, State, Reason string }
	if s.query(kserve.OpMetadata, modelIndex, "", anyVersion, &index) != nil {
		return ""
	}
	for _, m := range index {
		if m.Name == model {
			return strings.TrimSpace(m.Reason)
		}
	}
	return fmt.Sprintf("there is no model %q in the repository", model)
}

// tally is a pair of counters as Triton writes it.
type tally struct{ Count, Ns uint64 }

type stats struct {
	Name, Version string
	Inferences    uint64 `json:"inference_count"`
	Executions    uint64 `json:"execution_count"`
	Times         struct {
		Success, Queue tally
		Input          tally `json:"compute_input"`
		Infer          tally `json:"compute_infer"`
		Output         tally `json:"compute_output"`
		Hit            tally `json:"cache_hit"`
		Miss           tally `json:"cache_miss"`
	} `json:"inference_stats"`
}

// Stats reads the counters of the model, or of all that take part when it is made of others.
func (s *Service) Stats(context.Context) ([]service.ModelStats, error) {
	model, version := s.target.Model, s.version(s.target.Model, s.target.Version)
	composed := s.model != nil && len(s.model.Composing) > 0
	if composed {
		model, version = "", anyVersion
	}
	var doc struct {
		Models []stats `json:"model_stats"`
	}
	if err := s.query(kserve.OpStats, modelStats, model, version, &doc); err != nil {
		return nil, err
	}
	all := make([]service.ModelStats, 0, len(doc.Models))
	for i := range doc.Models {
		m := &doc.Models[i]
		t := &m.Times
		all = append(all, service.ModelStats{
			Name: m.Name, Version: m.Version, InferenceCount: m.Inferences, ExecutionCount: m.Executions,
			Success: service.Tally(t.Success), Queue: service.Tally(t.Queue),
			ComputeInput: service.Tally(t.Input), ComputeInfer: service.Tally(t.Infer), ComputeOutput: service.Tally(t.Output),
			CacheHit: service.Tally(t.Hit), CacheMiss: service.Tally(t.Miss),
		})
	}
	if composed {
		all = kserve.Known(s.model, all)
	}
	if len(all) == 0 {
		return nil, &service.Error{Op: kserve.OpStats, Class: record.Protocol, Text: "missing statistics for requested model"}
	}
	return all, nil
}
