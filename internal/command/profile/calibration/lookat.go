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
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// probeTime is how long the run's own server may take to answer the one request.
const probeTime = 10 * time.Second

// LookAt learns what the model of a plan takes and gives: from the run's own server, else by its name, else from --shape.
func LookAt(p *command.IO, sigs *command.Signals, pl *plan.Plan) (*standin.Model, error) {
	switch pl.Target.Kind {
	case plan.Triton, plan.TFServing:
	case plan.OpenAI, plan.TorchServe, plan.TritonCAPI, plan.DynamicGRPC:
		return &standin.Model{How: "none: what is sent stands in the options"}, nil
	}
	own, err := probeServer(p, sigs, pl)
	if err == nil {
		return own, nil
	}
	var refused *service.Error
	if !errors.As(err, &refused) || refused.Class != record.Connect {
		return nil, fmt.Errorf("ask %s for the model: %w", pl.Target.URL, err)
	}
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
	server, err := command.StartEmbedded(sigs.Soft, p, []string{"--null"})
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

// probeServer asks the run's own server for the model, and for one answer.
func probeServer(p *command.IO, sigs *command.Signals, pl *plan.Plan) (*standin.Model, error) {
	c := *pl
	c.Input.SharedMemory = plan.NoSharedMemory // so that the answer tells its size
	s := &traffic.Traffic{IO: p.Silenced(), Plan: &c, Sigs: sigs}
	defer s.Close()
	for _, step := range []func() error{s.StartServer, s.Describe, s.Check, s.LoadUnchecked} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	answer, err := sendOne(s)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for _, t := range answer {
		bytes += len(t.Data)
	}
	return &standin.Model{Spec: s.Model, Answer: answer, How: fmt.Sprintf("%s as %s has it: %s; one request was sent there, its answer had %d bytes of tensors",
		pl.Target.Model, s.Plan.Target.URL, counted(len(s.Model.Inputs), "input"), bytes)}, nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// sendOne sends a single request and returns its first answer.
func sendOne(s *traffic.Traffic) ([]tensor.Tensor, error) {
	ctx, cancel := context.WithTimeout(s.Sigs.Soft, probeTime)
	defer cancel()
	call := &service.Call{}
	s.Feed()(0, 1).Next(call)
	if call.Vars.Present {
		call.Vars.End = true // it begins a sequence, which must not stay open
	}
	response, err := service.Once(ctx, s.Service, call)
	if err != nil {
		return nil, err
	}
	if call.Rec.Class != record.OK {
		return nil, fmt.Errorf("one request failed: %w", call.Err)
	}
	return s.Service.Outputs(response)
}
