// Package workload turns input data into requests and says which request comes next.
//
// Load reads or makes the data: streams of steps, a step being one value for each input of the model (and,
// for validation, for each output). Prepare gathers steps into batches and has each distinct request encoded
// once. A Cursor belongs to one slot of the engine and names the next request without sharing or allocating;
// for models that keep state, a SequenceCursor does the same in sequences.
package workload

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Data is the input data of a run. It is not changed after Load.
type Data struct {
	// FromJSON tells that the data was read from JSON files.
	FromJSON bool

	batch    int
	batching bool // the model batches: shapes get a first dimension
	whole    bool // shapes in the data may have that dimension already
	sequence bool
	in       plan.Input
	inputs   []service.TensorSpec // by name, variable shapes replaced by the user's
	outputs  []service.TensorSpec // by name
	streams  [][]step
	times    []time.Duration // of a fixed schedule, beside streams[0]
	turns    []turn          // of sessions, beside streams[0]
}

// step is the data of one member of a batch.
type step struct {
	in   []datum // beside Data.inputs
	want []datum // beside Data.outputs; nil when nothing is expected
}

// datum is one tensor without its batch dimension.
type datum struct {
	set   bool
	shape tensor.Shape // nil where it is not known, which only outputs may be
	data  []byte
}

// Load reads or makes the data for a model as the plan asks. Errors about the data are of type *DataError; with
// ErrNoSteps the data, of which there is none, comes too.
func Load(in plan.Input, m *service.Model) (*Data, error) {
	d := &Data{
		batch:    max(in.Batch, 1),
		batching: m.MaxBatch > 0,
		whole:    m.MaxBatch > 0 && m.Unconfigured,
		sequence: m.Sequential(),
		in:       in,
		inputs:   sorted(m.Inputs),
		outputs:  sorted(m.Outputs),
	}
	for i := range d.inputs {
		spec := &d.inputs[i]
		if shape, ok := in.Shapes[spec.Name]; ok && spec.Shape.Dynamic() {
			spec.Shape = shape
		}
	}
	err := d.read()
	if err != nil && !errors.Is(err, ErrNoSteps) {
		return nil, err
	}
	return d, err
}

func (d *Data) read() error {
	switch d.in.Source {
	case plan.JSONFiles:
		d.FromJSON = true
		return d.readFiles(d.in.Paths)
	case plan.Directory:
		if len(d.in.Paths) == 0 {
			return dataError("no directory was given for the input data")
		}
		return d.readDirectory(d.in.Paths[0])
	case plan.Random, plan.Zero:
		return d.generate()
	}
	return dataError("unknown source of input data %q", d.in.Source)
}

// Streams is the number of data streams.
func (d *Data) Streams() int { return len(d.streams) }

// Steps is the number of steps of a stream, 0 where there is no such stream.
func (d *Data) Steps(stream int) int {
	if stream >= len(d.streams) {
		return 0
	}
	return len(d.streams[stream])
}

// sorted copies the specs in the order of their names, in which they are sent.
func sorted(specs []service.TensorSpec) []service.TensorSpec {
	specs = slices.Clone(specs)
	slices.SortFunc(specs, func(a, b service.TensorSpec) int { return cmp.Compare(a.Name, b.Name) })
	return specs
}

func find(specs []service.TensorSpec, name string) int {
	i, ok := slices.BinarySearchFunc(specs, name, func(s service.TensorSpec, name string) int { return cmp.Compare(s.Name, name) })
	if !ok {
		return -1
	}
	return i
}
