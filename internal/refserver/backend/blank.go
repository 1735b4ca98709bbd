package backend

import (
	"bytes"
	"context"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// blank ignores its inputs and returns every output as zeros of its dims; a variable dim is 1. Strings have string_length letters
// (a parameter). A decoupled model sends as many responses as the parameter responses says, evenly spread over Env.Hold. blank
// replaces any model if only sizes matter.
type blank struct {
	latency   latency
	outputs   []tensor.Tensor // of a batch of one
	responses int             // to each request of a decoupled model; 0 where the model is not decoupled
	env       Env
}

func newBlank(cfg *kserve.ModelConfig, par params, env Env) (Instance, error) {
	lat, err := newLatency(par, env)
	if err != nil {
		return nil, err
	}
	b := &blank{latency: lat, env: env}
	if cfg.GetModelTransactionPolicy().GetDecoupled() {
		b.responses = max(1, par.integer("responses", 1))
	}
	for _, out := range cfg.GetOutput() {
		kind, ok := Datatype(out.GetDataType())
		if !ok {
			return nil, infer.Errorf(infer.InvalidArg, "output '%s' of model '%s' has no data type", out.GetName(), cfg.GetName())
		}
		t := tensor.Tensor{Name: out.GetName(), Type: kind}
		elements := 1
		for _, d := range out.GetDims() {
			t.Shape = append(t.Shape, max(d, 1))
			elements *= int(max(d, 1))
		}
		if kind == tensor.Bytes {
			t.Data = bytes.Repeat(tensor.AppendElement(nil, string(bytes.Repeat([]byte("x"), par.integer("string_length", 0)))), elements)
		} else {
			t.Data = make([]byte, elements*kind.Size())
		}
		b.outputs = append(b.outputs, t)
	}
	return b, nil
}

func (b *blank) Execute(ctx context.Context, jobs []*Job) {
	b.latency.spend(ctx, time.Now(), jobs)
	for _, j := range jobs {
		if b.responses > 0 {
			b.respond(j, 1)
		} else {
			j.Send(b.answer(j)...)
		}
	}
}

// respond sends response n of a decoupled model when it is due, and then the ones after it.
func (b *blank) respond(j *Job, n int) {
	due := j.Received.Add(b.env.Hold * time.Duration(n) / time.Duration(b.responses))
	b.env.Clock.At(due, func() {
		if n == b.responses {
			j.Finish(b.answer(j)...)
			return
		}
		j.Send(b.answer(j)...)
		b.respond(j, n+1)
	})
}

func (b *blank) answer(j *Job) []tensor.Tensor {
	outputs := make([]tensor.Tensor, len(b.outputs))
	for i, t := range b.outputs {
		outputs[i] = shaped(j.Request, t.Name, t.Type, bytes.Repeat(t.Data, max(j.Batch, 1)), t.Shape...)
	}
	return outputs
}

// Datatype is the protocol's datatype of a configured one.
func Datatype(t kserve.DataType) (tensor.Datatype, bool) {
	if t == kserve.DataType_TYPE_STRING {
		return tensor.Bytes, true
	}
	name := t.String()
	return tensor.ParseDatatype(name[len("TYPE_"):])
}
