package backend

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// accumulate keeps a running sum for each sequence: START sets it, every other request adds to it, and the response is
// the sum so far. With the parameter add_correlation_id, that number is added to the response of END.
func accumulate(cfg *kserve.ModelConfig) func(*Job) {
	sums := map[string]int64{}
	return func(j *Job) {
		in := j.Input(cfg.GetInput()[0].GetName())
		size := in.Type.Size()
		var sum int64
		for i := 0; size > 0 && i+size <= len(in.Data); i += size {
			sum += tensor.Number(in.Type, in.Data[i:]).Whole
		}
		key := j.Sequence.Key()
		if !j.Sequence.Start {
			sum += sums[key]
		}
		sums[key] = sum
		if j.Sequence.End {
			delete(sums, key)
			if cfg.GetParameters()["add_correlation_id"].GetStringValue() == "true" {
				sum += correlationNumber(j)
			}
		}
		out := make([]byte, len(in.Data))
		for i := 0; size > 0 && i+size <= len(out); i += size {
			putNumber(in.Type, out[i:], tensor.Num{Whole: sum})
		}
		j.Send(tensor.Tensor{Name: cfg.GetOutput()[0].GetName(), Type: in.Type, Shape: in.Shape, Data: out})
	}
}

// sequence behaves like the sequence models of Triton's examples: it returns the input, plus 1 on START; if the model takes the
// correlation id, the id is added on END.
func sequence(cfg *kserve.ModelConfig) func(*Job) {
	corrID := takesCorrelationID(cfg)
	return func(j *Job) {
		in := j.Input(cfg.GetInput()[0].GetName())
		var extra int64
		if j.Sequence.Start {
			extra++
		}
		if corrID && j.Sequence.End {
			extra += correlationNumber(j)
		}
		j.Send(tensor.Tensor{Name: cfg.GetOutput()[0].GetName(), Type: in.Type, Shape: in.Shape, Data: plus(in, extra)})
	}
}

func plus(in *tensor.Tensor, extra int64) []byte {
	if in.Type == tensor.Bytes {
		var out []byte
		for rest := in.Data; len(rest) > 0; {
			var s string
			s, rest = nextString(rest)
			n, _ := strconv.ParseInt(s, 10, 64) // text that is not a number counts as 0
			out = tensor.AppendElement(out, strconv.FormatInt(n+extra, 10))
		}
		return out
	}
	out, size := make([]byte, len(in.Data)), in.Type.Size()
	for i := 0; size > 0 && i+size <= len(out); i += size {
		n := tensor.Number(in.Type, in.Data[i:])
		putNumber(in.Type, out[i:], n.Add(tensor.Num{Whole: extra, Real: float64(extra)}, 1))
	}
	return out
}

func takesCorrelationID(cfg *kserve.ModelConfig) bool {
	for _, in := range cfg.GetSequenceBatching().GetControlInput() {
		for _, c := range in.GetControl() {
			if c.GetKind() == kserve.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID {
				return true
			}
		}
	}
	return false
}

func correlationNumber(j *Job) int64 {
	if j.Sequence.Name == "" {
		return int64(j.Sequence.ID)
	}
	n, _ := strconv.ParseInt(j.Sequence.Name, 10, 64) // a name that is not a number adds nothing
	return n
}

// repeat is decoupled: it sends each element of IN after the delay at the same position, and occupies the instance for WAIT.
type repeat struct{ env Env }

func (b *repeat) Execute(ctx context.Context, jobs []*Job) {
	for _, j := range jobs {
		go b.respond(ctx, j)
		if wait := j.Input("WAIT"); wait != nil && len(wait.Data) >= 4 {
			_ = b.env.Clock.For(ctx, millis(wait.Data)) // at shutdown the wait ends at once
		}
	}
}

func (b *repeat) respond(ctx context.Context, j *Job) {
	in, delay := j.Input("IN"), j.Input("DELAY")
	due := time.Now()
	for i := range len(in.Data) / 4 {
		if j.Done() {
			break // the client has gone
		}
		if delay != nil && 4*i+4 <= len(delay.Data) {
			due = due.Add(millis(delay.Data[4*i:]))
			_ = b.env.Clock.Until(ctx, due) // at shutdown the rest is sent at once
		}
		index := binary.LittleEndian.AppendUint32(nil, uint32(i))
		j.Send(shaped(j.Request, "OUT", tensor.Int32, in.Data[4*i:4*i+4], 1), shaped(j.Request, "IDX", tensor.Uint32, index, 1))
	}
	j.End()
}

func millis(b []byte) time.Duration {
	return time.Duration(binary.LittleEndian.Uint32(b)) * time.Millisecond
}
