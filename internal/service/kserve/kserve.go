// Package kserve holds what the two transports of the KServe v2 protocol (and Triton's extensions of it) have
// in common: what a server says of a model, how that becomes a service.Model, what a right answer is.
//
// The transports (rest over HTTP, and its gRPC sibling) fetch Metadata and Config in their own encoding and
// hand themselves to Describe as a Source. Describe walks ensembles and the models named as called from a BLS
// model, finds the scheduler and the response caches, and reports what does not fit together.
package kserve

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/service"
)

// Metadata is the server's description of a model's tensors. Shapes include the batch dimension.
type Metadata struct {
	Name     string
	Versions []string
	Platform string
	Inputs   []TensorMetadata
	Outputs  []TensorMetadata
}

// TensorMetadata is one input or output as the metadata has it.
type TensorMetadata struct {
	Name     string
	Datatype string
	Shape    []int64
}

// Config is the part of a model's configuration that matters to a client under load.
type Config struct {
	Name     string
	Platform string
	MaxBatch int
	Inputs   []TensorConfig
	Outputs  []TensorConfig
	Sequence bool // sequence_batching is present
	// SequenceIdle is how long the server keeps an idle sequence. NumberIDs: the model sees correlation ids as numbers.
	SequenceIdle time.Duration
	NumberIDs    bool
	Dynamic      bool // dynamic_batching is present
	// QueueDelay is dynamic_batching.max_queue_delay_microseconds.
	QueueDelay time.Duration
	Decoupled  bool // model_transaction_policy.decoupled
	Cache      bool // response_cache.enable
	// Steps are the models of an ensemble, in the order of its schedule.
	Steps []Step
}

// TensorConfig is one input or output as the configuration has it.
type TensorConfig struct {
	Name        string
	Optional    bool
	ShapeTensor bool
}

// Step is one model of an ensemble. A negative Version leaves the choice to the server.
type Step struct {
	Model   string
	Version int64
}

// Source asks one server. Its errors are of type *service.Error. An empty version leaves the choice to the server.
type Source interface {
	Metadata(ctx context.Context, model, version string) (*Metadata, error)
	Config(ctx context.Context, model, version string) (*Config, error)
	// Extensions lists the protocol extensions that the server names in its own metadata.
	Extensions(ctx context.Context) ([]string, error)
}

// The operations, as they stand in service.Error.Op. A program may turn them into its own words.
const (
	OpMetadata  = "model metadata"
	OpConfig    = "model config"
	OpParse     = "model parser" // the model's parts do not fit together, or a composing model is missing
	OpServer    = "server metadata"
	OpStats     = "model statistics"
	OpList      = "model list"
	OpLoad      = "load"
	OpUnload    = "unload"
	OpTrace     = "trace setting"
	OpShare     = "shared memory"
	OpInfer     = service.OpInfer
	OpConnect   = service.OpConnect
	StatsExt    = "statistics"
	configExt   = "model_configuration"
	binaryExt   = "binary_tensor_data"
	ensembleTag = "ensemble"
)

// Known picks the statistics of the described model and of its composing models out of all that a server
// reported, so that other models of a busy server stay out of the result.
func Known(m *service.Model, all []service.ModelStats) []service.ModelStats {
	names := map[string]bool{m.Name: true}
	collect(names, m.Composing)
	kept := all[:0]
	for i := range all {
		if names[all[i].Name] {
			kept = append(kept, all[i])
		}
	}
	return kept
}

func collect(names map[string]bool, parts []service.Composing) {
	for _, p := range parts {
		names[p.Name] = true
		collect(names, p.Parts)
	}
}
