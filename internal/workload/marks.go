package workload

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Marks are members of a step that are no inputs of the model: they say when it is sent, or in which conversation.
const (
	timestampMark = "timestamp"  // milliseconds since the load began
	sessionMark   = "session_id" // the conversation that it belongs to
	delayMark     = "delay"      // milliseconds between its answer and the next turn
)

// marks lists what the steps of a load mode must or may say besides their inputs.
func marks(mode plan.Mode) []service.TensorSpec {
	one := tensor.Shape{1}
	switch mode {
	case plan.FixedSchedule:
		return []service.TensorSpec{{Name: timestampMark, Type: tensor.Uint64, Shape: one}}
	case plan.SessionConcurrency:
		return []service.TensorSpec{
			{Name: sessionMark, Type: tensor.Bytes, Shape: one},
			{Name: delayMark, Type: tensor.Uint64, Shape: one, Optional: true},
		}
	case plan.Concurrency, plan.RequestRate, plan.CustomIntervals, plan.PeriodicConcurrency:
	}
	return nil
}

// LoadFor is Load for a mode whose data says more than what to send: the times of a fixed schedule, or the turns
// of sessions. The first warmup steps of a schedule are for warming up.
func LoadFor(in plan.Input, m *service.Model, mode plan.Mode, warmup int) (*Data, error) {
	extra := marks(mode)
	if extra == nil {
		return Load(in, m)
	}
	wider := *m
	for _, spec := range extra {
		wider.Inputs = slices.DeleteFunc(slices.Clone(wider.Inputs), func(s service.TensorSpec) bool { return s.Name == spec.Name })
		wider.Inputs = append(wider.Inputs, spec)
	}
	d, err := Load(in, &wider)
	if err != nil {
		return nil, err
	}
	if len(d.streams) != 1 {
		return nil, dataError(`"data" must have one stream: write the steps into "data" itself, not into lists inside of it`)
	}
	if mode == plan.FixedSchedule {
		return d, d.takeTimes(warmup)
	}
	return d, d.takeTurns()
}

// take removes a mark from all steps and returns its values, in the order of the steps.
func (d *Data) take(name string) []datum {
	i := find(d.inputs, name)
	d.inputs = slices.Delete(d.inputs, i, i+1)
	out := make([]datum, 0, len(d.streams[0]))
	for k := range d.streams[0] {
		s := &d.streams[0][k]
		out = append(out, s.in[i])
		s.in = slices.Delete(s.in, i, i+1)
	}
	return out
}

// takeTimes brings the steps into the order of their times, those for warming up apart from the others.
func (d *Data) takeTimes(warmup int) error {
	type timed struct {
		at   time.Duration
		step step
	}
	values := d.take(timestampMark)
	all := make([]timed, len(values))
	for i, v := range values {
		at, ok := milliseconds(v.data)
		if !ok {
			return dataError("the timestamp of step %d is too large: it counts milliseconds since the start", i)
		}
		all[i] = timed{at, d.streams[0][i]}
	}
	w := min(warmup, len(all))
	for _, part := range [][]timed{all[:w], all[w:]} {
		slices.SortStableFunc(part, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	}
	d.times = make([]time.Duration, len(all))
	for i := range all {
		d.times[i], d.streams[0][i] = all[i].at, all[i].step
	}
	return nil
}

func milliseconds(raw []byte) (time.Duration, bool) {
	ms := binary.LittleEndian.Uint64(raw)
	if ms > math.MaxInt64/uint64(time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// Times are the due times of a fixed schedule, one for each step; nil for any other mode.
func (d *Data) Times() []time.Duration { return d.times }
