// Package kind is the table of service kinds. A kind is one folder below internal/service and one row here: its constructor,
// its traits and its words. All other code asks for traits and names no kind, except where it chooses one.
package kind

import (
	"fmt"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Default is the kind of a plan unless the user gives one.
const Default = plan.Triton

// Row is one service kind. The zero value of each trait is the simplest case: the server describes no models, each
// request has one response, and the reference server cannot take the server's place.
type Row struct {
	Name plan.Kind // the value of --service-kind
	// New makes the service of a plan. It does not connect.
	New func(*plan.Plan) (service.Service, error)
	Traits
	Words
}

// Traits are what a kind needs, has and can do.
type Traits struct {
	// Protocols are those that the kind has. A kind without one runs in this process and has no address.
	Protocols []plan.Protocol
	// GRPCAddress is the default address over gRPC; empty is localhost:8000, which is also the default address over HTTP.
	GRPCAddress string
	// Path is where the paths of the API begin over HTTP; a target may have an endpoint of its own.
	Path string
	// HTTP2: requests can be sent over HTTP/1.1 and over HTTP/2, see --http-version.
	HTTP2 bool

	ModelMetadata bool // the server describes the inputs and outputs of a model
	ModelList     bool // the server lists its models
	Endpoints     bool // the server has paths that take JSON instead of models with inputs and outputs
	NoModelName   bool // requests do not name a model: -m is not needed
	Method        bool // requests call the method of --grpc-method
	Signature     bool // requests name a signature of the model, see --model-signature-name

	Streams       bool // a request may have several responses also without --streaming
	HTTPStreams   bool // servers of the kind other than Triton may have --streaming over HTTP
	SharedStreams bool // with --streaming, requests share streams that outlive them
	Synchronous   bool // --async is refused for the kind
	Unbatched     bool // requests have no batch dimension unless -b is given
	Sessions      bool // responses are messages of a conversation, see --session-concurrency
	SharedMemory  bool // tensors can be in shared memory
	Metrics       bool // the server reports Triton's metrics, see --collect-metrics
	// MetricsPage is where the server reports its own metrics, as :8002/metrics; empty is /metrics at its address.
	MetricsPage string
	Embedded    bool // --embedded starts such a server

	Reference Reference
}

// InProcess tells whether the server runs in this process: it has no address and no protocol.
func (t *Traits) InProcess() bool { return len(t.Protocols) == 0 }

// Reference is how the reference server takes the place of a server, for a calibration.
type Reference struct {
	// Missing is why it cannot, if there is more to say than that it has no such kind.
	Missing string
	// Port names its port; empty is the port of the plan's protocol.
	Port plan.Protocol
	// Hold are the options with which it holds each response of a model for a time; nil if it has no such kind.
	Hold func(model string, hold time.Duration) []string
}

// Words are what this program says about a kind.
type Words struct {
	API    string // the protocol's name, for 'redline inspect'; empty: the command does not try the kind
	Native string // why the kind needs redline-native; empty: it does not
}

// Of returns the row of a kind; an unknown kind has an empty row.
func Of(k plan.Kind) *Row {
	for i := range rows {
		if rows[i].Name == k {
			return &rows[i]
		}
	}
	return &Row{Name: k}
}

// Names are the names of all kinds, or of those that 'redline inspect' tries.
func Names(inspect bool) []string {
	var out []string
	for i := range rows {
		if !inspect || rows[i].API != "" {
			out = append(out, string(rows[i].Name))
		}
	}
	return out
}

// Open makes the service of a plan.
func Open(p *plan.Plan) (service.Service, error) {
	r := Of(p.Target.Kind)
	if r.New == nil {
		return nil, fmt.Errorf("service kind %s is not in this build", r.Name)
	}
	return r.New(p)
}

// Candidate is a kind with one of its protocols.
type Candidate struct {
	*Row
	Protocol plan.Protocol
}

// Candidates are what a server can be that 'redline inspect' asks, in the order in which it tries them: HTTP first.
func Candidates() []Candidate {
	var out []Candidate
	for _, p := range []plan.Protocol{plan.HTTP, plan.GRPC} {
		for i := range rows {
			if r := &rows[i]; r.API != "" && slices.Contains(r.Protocols, p) {
				out = append(out, Candidate{r, p})
			}
		}
	}
	return out
}
