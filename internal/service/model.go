package service

import "github.com/redline-bench/redline/internal/tensor"

// Model is what a server says of the model under test.
type Model struct {
	Name     string
	Version  string // as asked for; empty means the server's choice
	Platform string
	MaxBatch int // 0: the model does not batch
	Inputs   []TensorSpec
	Outputs  []TensorSpec

	Scheduler Scheduler
	Decoupled bool
	// Cache is set when the model or one of its composing models has a response cache; OwnCache when the model itself has.
	Cache    bool
	OwnCache bool
	// Composing lists the models that an ensemble or BLS model calls, in the order of its configuration.
	Composing []Composing
	// Statistics tells whether the server counts inferences for us.
	Statistics bool
}

// Composing is a model inside an ensemble, with its own parts where it is an ensemble too.
type Composing struct {
	Name    string
	Version string // empty: unspecified
	Parts   []Composing
}

// TensorSpec describes one input or output. Shape is without the batch dimension; -1 is a variable one.
type TensorSpec struct {
	Name        string
	Type        tensor.Datatype
	Shape       tensor.Shape
	Optional    bool
	ShapeTensor bool
}

// Scheduler is how the server schedules the model.
type Scheduler uint8

// The schedulers.
const (
	NoScheduler Scheduler = iota
	DynamicBatcher
	SequenceBatcher
	Ensemble
	EnsembleWithSequence
)

// Sequential tells whether requests must belong to sequences.
func (m *Model) Sequential() bool {
	return m.Scheduler == SequenceBatcher || m.Scheduler == EnsembleWithSequence
}

// Input finds an input by name.
func (m *Model) Input(name string) (TensorSpec, bool) { return find(m.Inputs, name) }

// Output finds an output by name.
func (m *Model) Output(name string) (TensorSpec, bool) { return find(m.Outputs, name) }

func find(specs []TensorSpec, name string) (TensorSpec, bool) {
	for _, s := range specs {
		if s.Name == name {
			return s, true
		}
	}
	return TensorSpec{}, false
}
