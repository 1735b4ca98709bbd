package backend

import (
	"context"
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
		list, key := numbers(j.Input(cfg.GetInput()[0].GetName())), j.Sequence.Key()
		if j.Sequence.Start {
			sums[key] = 0
		}
		for _, n := range list {
			sums[key] += n.Whole
		}
		sum := sums[key]
		if j.Sequence.End {
			delete(sums, key)
			if cfg.GetParameters()["add_correlation_id"].GetStringValue() == "true" {
				sum += correlationNumber(j)
			}
		}
		for i := range list {
			list[i] = tensor.Num{Whole: sum, Real: float64(sum)}
		}
		sendNumbers(j, cfg, list)
	}
}

// sequence behaves like the sequence models of Triton's examples: it returns the input, plus 1 on START; if the model takes the
// correlation id, the id is added on END.
func sequence(cfg *kserve.ModelConfig) func(*Job) {
	corrID := takesCorrelationID(cfg)
	return func(j *Job) {
		var extra int64
		if j.Sequence.Start {
			extra++
		}
		if corrID && j.Sequence.End {
			extra += correlationNumber(j)
		}
		list := numbers(j.Input(cfg.GetInput()[0].GetName()))
		for i := range list {
			list[i] = list[i].Add(tensor.Num{Whole: extra, Real: float64(extra)}, 1)
		}
		sendNumbers(j, cfg, list)
	}
}

// sendNumbers answers with an output of the type and shape of the input.
func sendNumbers(j *Job, cfg *kserve.ModelConfig, list []tensor.Num) {
	in := j.Input(cfg.GetInput()[0].GetName())
	j.Send(tensor.Tensor{Name: cfg.GetOutput()[0].GetName(), Type: in.Type, Shape: in.Shape, Data: packed(in.Type, list)})
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
		_ = b.env.Clock.For(ctx, first(numbersOf(j, "WAIT"))) // at shutdown the wait ends at once
	}
}

func (b *repeat) respond(ctx context.Context, j *Job) {
	delays, due := numbersOf(j, "DELAY"), time.Now()
	for i, n := range numbersOf(j, "IN") {
		if j.Done() {
			break // the client has gone
		}
		due = due.Add(first(delays[min(i, len(delays)):]))
		_ = b.env.Clock.Until(ctx, due) // at shutdown the rest is sent at once
		j.Send(shaped(j.Request, "OUT", tensor.Int32, packed(tensor.Int32, []tensor.Num{n}), 1),
			shaped(j.Request, "IDX", tensor.Uint32, packed(tensor.Uint32, []tensor.Num{{Whole: int64(i)}}), 1))
	}
	j.End()
}

// numbersOf are the elements of an input; none where it is missing.
func numbersOf(j *Job, name string) []tensor.Num {
	if t := j.Input(name); t != nil {
		return numbers(t)
	}
	return nil
}

// first is the first number as a time in milliseconds; 0 where there is none.
func first(list []tensor.Num) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return time.Duration(list[0].Whole) * time.Millisecond
}
