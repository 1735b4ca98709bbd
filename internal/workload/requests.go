package workload

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Requests are the distinct requests of a run, prepared. Record.Step of a call is an index into them.
type Requests struct {
	d       *Data
	list    []service.Request
	streams []span
}

// span is the part of the list that one stream fills. Request i of it starts at step i*stride of the stream,
// counted around.
type span struct {
	steps  []step
	first  int // index into the list
	count  int
	stride int
}

func (s *span) start(i int) int { return i * s.stride % len(s.steps) }

// Prepare has each distinct request encoded by the service. A request that batches b steps starts at a
// multiple of b; in a stream of n steps that makes n/gcd(n,b) different ones. In sequences every step starts one.
//
// A model without state gets all streams, one after the other, or the first one alone: see plan.Input.FirstStream.
//
// Errors are *DataError where steps do not fit together or there are none, else the service's.
func Prepare(ctx context.Context, svc service.Service, d *Data) (*Requests, error) {
	streams := d.streams
	if !d.sequence {
		if !d.in.FirstStream && len(streams) > 1 {
			streams = [][]step{slices.Concat(streams...)}
		}
		streams = streams[:1]
		if len(streams[0]) == 0 {
			return nil, d.nothing()
		}
	}
	r := &Requests{d: d}
	total := 0
	for _, steps := range streams {
		s := span{steps: steps, first: total, count: len(steps), stride: 1}
		if !d.sequence {
			s.stride = d.batch
			s.count /= gcd(len(steps), d.batch)
		}
		total += s.count
		r.streams = append(r.streams, s)
	}
	if uint64(total) > 1<<32 {
		return nil, fmt.Errorf("prepare %d requests: at most 2^32 steps of input data can be used", total)
	}
	outputs := convert.All(d.outputs, func(spec service.TensorSpec) string { return spec.Name })
	r.list = make([]service.Request, 0, total)
	for i := range r.streams {
		if err := r.prepare(ctx, svc, i, outputs); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Requests) prepare(ctx context.Context, svc service.Service, stream int, outputs []string) error {
	s := &r.streams[stream]
	for i := range s.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := s.start(i)
		tensors, err := r.d.inputsAt(s.steps, start)
		if err != nil {
			return err
		}
		req, err := svc.Prepare(service.Inputs{
			Tensors: tensors,
			Outputs: outputs,
			Expect:  r.d.expectAt(s.steps, start),
			Step:    uint32(s.first + i),
			Stream:  stream,
			First:   start,
		})
		if err != nil {
			return err
		}
		r.list = append(r.list, req)
	}
	return nil
}

// Len is the number of distinct requests.
func (r *Requests) Len() int { return len(r.list) }

// Batch is the number of inferences in each request.
func (r *Requests) Batch() int { return r.d.batch }

// Inputs is what the request of that step carries, with the whole batch. Its data must not be changed.
func (r *Requests) Inputs(step uint32) []tensor.Tensor {
	i := sort.Search(len(r.streams), func(i int) bool { return r.streams[i].first > int(step) }) - 1
	s := &r.streams[i]
	tensors, err := r.d.inputsAt(s.steps, s.start(int(step)-s.first))
	if err != nil {
		panic("BUG: workload: a prepared request cannot be assembled again: " + err.Error())
	}
	return tensors
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
