// Package standin is what the reference server needs to take the place of a run's own server in a calibration: a model that
// takes and gives the same, and a certificate.
package standin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Model is what a server that does nothing must take and give in the place of a model.
type Model struct {
	How    string         // where that was learned
	Spec   *service.Model // nil: the server has such a model of its own
	Answer []tensor.Tensor
	// Responses is how many responses a request gets. More than one needs a decoupled model.
	Responses int
	// MethodBytes is the size of a response of any gRPC method, for dynamic_grpc; 0 where none is needed.
	MethodBytes int
	Dir         string // the model repository, after Write; "" where none is needed
}

// Write writes the stand-in as a model for our own server, where one is needed.
func (m *Model) Write() error {
	if m.Spec == nil {
		return nil
	}
	if m.Spec.Name != filepath.Base(m.Spec.Name) {
		return fmt.Errorf("a model called %q cannot be set up", m.Spec.Name)
	}
	var err error
	if m.Dir, err = os.MkdirTemp("", "redline-calibrate-"); err != nil {
		return err
	}
	folder := filepath.Join(m.Dir, m.Spec.Name)
	if err := os.MkdirAll(filepath.Join(folder, "1"), 0o755); err != nil {
		return err
	}
	text, err := prototext.Marshal(m.config())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "config.pbtxt"), text, 0o600)
}

// Remove removes what Write has written.
func (m *Model) Remove() {
	if m.Dir != "" {
		_ = os.RemoveAll(m.Dir) // what stays in the temporary folder does no harm
	}
}

// whole is the model as a server without configurations states it: shapes have the batch dimension, and the outputs are those
// of the answer.
func (m *Model) whole() *service.Model {
	spec := *m.Spec
	spec.Inputs, spec.Outputs = slices.Clone(spec.Inputs), nil
	for i := range spec.Inputs {
		if in := &spec.Inputs[i]; spec.MaxBatch > 0 {
			in.Shape = append(tensor.Shape{-1}, in.Shape...)
		}
	}
	for _, t := range m.Answer {
		spec.Outputs = append(spec.Outputs, service.TensorSpec{Name: t.Name, Type: t.Type, Shape: t.Shape})
	}
	spec.MaxBatch = 0
	return &spec
}

// config is the model's configuration: its own inputs, and outputs of the sizes that the answer had.
func (m *Model) config() *kserve.ModelConfig {
	spec := m.Spec
	if spec.Unconfigured {
		spec = m.whole()
	}
	cfg := &kserve.ModelConfig{Name: spec.Name, Backend: "blank", MaxBatchSize: int32(spec.MaxBatch), Parameters: map[string]*kserve.ModelParameter{}}
	if m.Responses > 1 {
		cfg.ModelTransactionPolicy = &kserve.ModelTransactionPolicy{Decoupled: true}
		cfg.Parameters["responses"] = &kserve.ModelParameter{StringValue: fmt.Sprint(m.Responses)}
	}
	for _, in := range spec.Inputs {
		cfg.Input = append(cfg.Input, &kserve.ModelInput{
			Name: in.Name, DataType: configType(in.Type), Dims: in.Shape, Optional: in.Optional, IsShapeTensor: in.ShapeTensor,
		})
	}
	for _, out := range spec.Outputs {
		dims := slices.Clone(out.Shape)
		if i := slices.IndexFunc(m.Answer, func(t tensor.Tensor) bool { return t.Name == out.Name }); i >= 0 {
			t := &m.Answer[i]
			dims = slices.Clone(t.Shape)
			if spec.MaxBatch > 0 && len(dims) > 0 {
				dims = dims[1:]
			}
			if n := int(t.Shape.Elements()); t.Type == tensor.Bytes && n > 0 {
				cfg.Parameters["string_length"] = &kserve.ModelParameter{StringValue: fmt.Sprint(max(0, len(t.Data)/n-4))}
			}
		}
		cfg.Output = append(cfg.Output, &kserve.ModelOutput{Name: out.Name, DataType: configType(out.Type), Dims: dims})
	}
	return cfg
}

// configType is a datatype by its name in a model's configuration.
func configType(t tensor.Datatype) kserve.DataType {
	if t == tensor.Bytes {
		return kserve.DataType_TYPE_STRING
	}
	return kserve.DataType(kserve.DataType_value["TYPE_"+t.String()])
}

// AnswerOf is an answer of a model with so many bytes: the first output of a variable size has what the others leave.
func AnswerOf(m *service.Model, batch int, bytes int64) []tensor.Tensor {
	if len(m.Outputs) == 0 { // the server does not state them
		return []tensor.Tensor{{Name: "OUTPUT", Type: tensor.Uint8, Shape: tensor.Shape{max(1, bytes)}}}
	}
	var list []tensor.Tensor
	left, variable := bytes, -1
	for i, out := range m.Outputs {
		shape := slices.Clone(out.Shape)
		if m.MaxBatch > 0 {
			shape = append(tensor.Shape{int64(max(batch, 1))}, shape...)
		}
		open := out.Type == tensor.Bytes
		for d, n := range shape {
			if n < 0 {
				shape[d], open = 1, true
			}
		}
		list = append(list, tensor.Tensor{Name: out.Name, Type: out.Type, Shape: shape})
		switch {
		case open && variable < 0:
			variable = i
		case out.Type != tensor.Bytes:
			left -= shape.Elements() * int64(out.Type.Size())
		}
	}
	if variable < 0 || left <= 0 {
		return list
	}
	t := &list[variable]
	if t.Type == tensor.Bytes {
		t.Data = make([]byte, left)
		return list
	}
	for d, n := range m.Outputs[variable].Shape {
		if n < 0 {
			at := d + len(t.Shape) - len(m.Outputs[variable].Shape)
			t.Shape[at] = max(1, left/(t.Shape.Elements()*int64(t.Type.Size())))
			break
		}
	}
	return list
}
