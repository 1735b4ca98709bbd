package calibration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/unit"
)

// probeTime is how long the run's own server may take to answer the one request.
const probeTime = 10 * time.Second

// LookAt learns what the model of a plan takes and gives: from the run's own server, else by its name, else from --shape. own
// has the requests of a kind with methods, whose form the run's own server may have told; it is nil for the other kinds.
func LookAt(p *command.IO, sigs *command.Signals, pl *plan.Plan) (m *standin.Model, own *traffic.Traffic, err error) {
	switch row := kind.Of(pl.Target.Kind); {
	case row.Method:
		return probeServer(p, sigs, pl)
	case !row.ModelMetadata:
		return &standin.Model{How: "none: what is sent stands in the options"}, nil, nil
	}
	m, _, err = probeServer(p, sigs, pl)
	if refused, ok := errors.AsType[*service.Error](err); ok && refused.Class == record.Connect {
		m, err = withoutServer(p, sigs, pl)
	}
	return m, nil, err
}

// advisedError is an error with a text that says what to do.
type advisedError struct {
	error
	text string
}

func (e *advisedError) Error() string { return e.text }
func (e *advisedError) Unwrap() error { return e.error }

// withoutServer is a model that our own server has by its name, or one with the inputs of --shape.
func withoutServer(p *command.IO, sigs *command.Signals, pl *plan.Plan) (*standin.Model, error) {
	name := pl.Target.Model
	switch {
	case builtin(p, sigs, pl):
		return &standin.Model{How: fmt.Sprintf("%s, the built-in one, as there is no server at %s", name, pl.Target.URL)}, nil
	case len(pl.Input.Shapes) > 0:
		m := &service.Model{Name: name, MaxBatch: max(1, pl.Input.Batch)}
		for input, shape := range pl.Input.Shapes {
			m.Inputs = append(m.Inputs, service.TensorSpec{Name: input, Type: tensor.FP32, Shape: shape})
		}
		slices.SortFunc(m.Inputs, func(a, b service.TensorSpec) int { return strings.Compare(a.Name, b.Name) })
		for _, in := range m.Inputs {
			m.Outputs = append(m.Outputs, service.TensorSpec{Name: "OUTPUT_" + in.Name, Type: in.Type, Shape: in.Shape})
		}
		return &standin.Model{Spec: m, How: fmt.Sprintf("%s by --shape: FP32, answers of the same size, as there is no server at %s", name, pl.Target.URL)}, nil
	}
	return nil, fmt.Errorf("there is no server at %s to ask for the model %q: start it, or give its inputs with --shape", pl.Target.URL, name)
}

// builtin tells whether our own server has a model of the name.
func builtin(p *command.IO, sigs *command.Signals, pl *plan.Plan) bool {
	server, err := command.StartEmbedded(sigs.Soft, p, nil)
	if err != nil {
		return false
	}
	defer server.Stop()
	c := *pl
	floorTarget(&c, server, "")
	s := &traffic.Traffic{IO: p.Silenced(), Plan: &c, Sigs: sigs}
	defer s.Close()
	return s.Describe() == nil
}

// probeServer asks the run's own server for the model, and sends it one request. own has the requests of the plan.
func probeServer(p *command.IO, sigs *command.Signals, pl *plan.Plan) (m *standin.Model, own *traffic.Traffic, err error) {
	c := *pl
	c.Input.SharedMemory = plan.NoSharedMemory // so that the answer tells its size
	s := &traffic.Traffic{IO: p.Silenced(), Plan: &c, Sigs: sigs}
	defer s.Close()
	if err := command.InOrder(s.StartServer, s.Describe, s.Check, s.LoadUnchecked); err != nil {
		return nil, nil, &advisedError{err, s.Advise(err)}
	}
	first, responses, err := sendOne(s)
	if err != nil {
		return nil, nil, fmt.Errorf("send one request to %s: %w", pl.Target.URL, err)
	}
	if c.Target.Kind == plan.DynamicGRPC {
		return &standin.Model{MethodBytes: max(1, len(first)), How: fmt.Sprintf("%s; one request was sent to %s, its response had %d bytes",
			c.Target.GRPCMethod, c.Target.URL, len(first))}, s, nil
	}
	answer, err := s.Service.Outputs(first)
	if err != nil {
		return nil, nil, err
	}
	bytes := 0
	for _, t := range answer {
		bytes += len(t.Data)
	}
	return &standin.Model{Spec: s.Model, Answer: answer, Responses: responses, How: fmt.Sprintf("%s as %s has it: %s; one request was sent there, its answer had %d bytes of tensors",
		pl.Target.Model, s.Plan.Target.URL, unit.Count(len(s.Model.Inputs), "input"), bytes)}, s, nil
}

// sendOne sends a single request and returns its first response, and how many responses came.
func sendOne(s *traffic.Traffic) (first []byte, responses int, err error) {
	ctx, cancel := context.WithTimeout(s.Sigs.Soft, probeTime)
	defer cancel()
	call := &service.Call{}
	s.Source()(0, 1).Next(call)
	if call.Vars.Present {
		call.Vars.End = true // it begins a sequence, which must not stay open
	}
	if first, err = service.Once(ctx, s.Service, call); err != nil {
		return nil, 0, err
	}
	if call.Rec.Class != record.OK {
		return nil, 0, call.Err
	}
	return first, int(call.Rec.Responses), nil
}
