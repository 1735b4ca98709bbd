package service

import (
	"fmt"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/tensor"
)

// Model is what a server says of the model under test.
type Model struct {
	Name     string       `json:"name"`
	Version  string       `json:"version,omitempty"` // as asked for; empty means the server's choice
	Platform string       `json:"platform,omitempty"`
	MaxBatch int          `json:"max_batch"` // 0: the model does not batch
	Inputs   []TensorSpec `json:"inputs"`
	Outputs  []TensorSpec `json:"outputs"`

	Scheduler Scheduler `json:"scheduler"`
	// MaxQueueDelay is how long a dynamic batcher may hold requests to form a larger batch.
	MaxQueueDelay time.Duration `json:"max_queue_delay,omitempty"`
	Decoupled     bool          `json:"decoupled,omitempty"`
	// Cache is set when the model or one of its composing models has a response cache; OwnCache when the model itself has.
	Cache    bool `json:"cache,omitempty"`
	OwnCache bool `json:"own_cache,omitempty"`
	// Composing lists the models that an ensemble or BLS model calls, in the order of its configuration.
	Composing []Composing `json:"composing,omitempty"`
	// Statistics tells whether the server counts inferences for us.
	Statistics bool `json:"statistics"`
	// BinaryData tells whether the server takes tensors as bytes over HTTP.
	BinaryData bool `json:"binary_data,omitempty"`
	// Unconfigured: the server states no configuration of the model. Shapes have the batch dimension until workload.Complete
	// finds it, and Inputs and Outputs may be empty.
	Unconfigured bool `json:"unconfigured,omitempty"`
}

// Composing is a model inside an ensemble, with its own parts where it is an ensemble too.
type Composing struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"` // empty: unspecified
	Parts   []Composing `json:"parts,omitempty"`
}

// TensorSpec describes one input or output. Shape is without the batch dimension; -1 is a variable one.
type TensorSpec struct {
	Name        string          `json:"name"`
	Type        tensor.Datatype `json:"type"`
	Shape       tensor.Shape    `json:"shape"`
	Optional    bool            `json:"optional,omitempty"`
	ShapeTensor bool            `json:"shape_tensor,omitempty"`
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

var schedulerNames = [...]string{"none", "dynamic_batching", "sequence_batching", "ensemble", "ensemble_with_sequence"}

// MarshalText lets a scheduler appear by its name in JSON.
func (s Scheduler) MarshalText() ([]byte, error) { return []byte(schedulerNames[s]), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Scheduler) UnmarshalText(text []byte) error {
	i := slices.Index(schedulerNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("no scheduler is called %q", text)
	}
	*s = Scheduler(i)
	return nil
}

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
