// Package plan is the whole run as one checked value: what to load, how, how to measure, where to write.
//
// A plan is plain data that survives JSON both ways. The command line makes it; nothing below reads a flag or
// the environment. Options are checked where they are parsed, in the words of their program.
//
// Policies say how a run decides where programs differ; their zero values are redline's own way.
package plan

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/traceid"
)

// Plan describes one run.
type Plan struct {
	Target  Target  `json:"target"`
	Load    Load    `json:"load"`
	Input   Input   `json:"input"`
	Measure Measure `json:"measure"`
	Output  Output  `json:"output"`
	// Policies are those of another program.
	Policies Policies `json:"policies,omitzero"`
	// Segment is the part of the load that this process sends; the zero value is the whole. The rest of the plan, such as
	// Load.Concurrency and Measure.RequestCount, is about the whole.
	Segment segment.Segment `json:"segment,omitzero"`
	// Outcome is what becomes of the result.
	Outcome Outcome `json:"outcome,omitzero"`
	// Fleet is which workers make the load.
	Fleet Fleet `json:"fleet,omitzero"`
	// Verbose is 0, 1 (-v) or 2 (-v -v).
	Verbose int `json:"verbose,omitempty"`
	// Own is the part of the run that only its command has, as JSON: the whole plan of llm as it was asked for, without secrets, and
	// what simple and stress have besides. The command reads it again in rerun.
	Own json.RawMessage `json:"own,omitempty"`
	// Secrets are the options whose values Public removed, as "-u" or "-H Authorization"; Complete takes the values again.
	Secrets []string `json:"secrets,omitempty"`
}

// Kind is a service kind.
type Kind string

// The service kinds that code chooses by name. A new kind needs no name here: its row in package kind has it.
const (
	Triton      Kind = "triton"
	OpenAI      Kind = "openai"
	TFServing   Kind = "tfserving"
	TorchServe  Kind = "torchserve"
	TritonCAPI  Kind = "triton_c_api"
	DynamicGRPC Kind = "dynamic_grpc"
)

// Protocol is the wire protocol; empty for in-process kinds.
type Protocol string

// The protocols.
const (
	HTTP Protocol = "http"
	GRPC Protocol = "grpc"
)

// Address is where a Triton listens for the protocol unless it is told otherwise.
func (p Protocol) Address() string {
	if p == GRPC {
		return "localhost:8001"
	}
	return "localhost:8000"
}

// CallMode is how calls were asked for. Auto lets the model decide.
type CallMode string

// The call modes.
const (
	Auto  CallMode = "auto"
	Sync  CallMode = "sync"
	Async CallMode = "async"
)

// Extensions says which extensions of the KServe protocol are used: model configuration, statistics and so on. The zero value
// uses those that the server has.
type Extensions string

// The other values: a server without the configuration of the model is refused; no server is asked for any extension.
const (
	NeedExtensions Extensions = "needed"
	NoExtensions   Extensions = "none"
)

// Target is the server and the model.
type Target struct {
	Kind     Kind     `json:"kind"`
	Protocol Protocol `json:"protocol"`
	URL      string   `json:"url"`
	Model    string   `json:"model"`
	Version  string   `json:"version,omitempty"`
	Endpoint string   `json:"endpoint,omitempty"`
	// HTTPVersion is 1.1 or 2; empty leaves it to the server where TLS lets both sides choose, and is 1.1 else.
	HTTPVersion string `json:"http_version,omitempty"`
	// LibcurlAgent: HTTP requests have the User-Agent of Triton's C++ client.
	LibcurlAgent bool `json:"libcurl_agent,omitempty"`

	ComposingModels []ModelRef  `json:"composing_models,omitempty"` // --bls-composing-models
	SignatureName   string      `json:"signature_name,omitempty"`
	GRPCMethod      string      `json:"grpc_method,omitempty"`
	Protos          []string    `json:"protos,omitempty"`           // --proto: files that describe GRPCMethod
	ServerDirectory string      `json:"server_directory,omitempty"` // triton_c_api
	ModelRepository string      `json:"model_repository,omitempty"` // triton_c_api
	Headers         []Header    `json:"headers,omitempty"`
	Parameters      []Parameter `json:"parameters,omitempty"`
	Call            CallMode    `json:"call"`
	Streaming       bool        `json:"streaming,omitempty"`
	Compression     string      `json:"compression,omitempty"` // "", none, gzip, deflate
	TLS             TLS         `json:"tls,omitzero"`
	Trace           Trace       `json:"trace,omitzero"`
	Metrics         Metrics     `json:"metrics,omitzero"`
	// Tracing chooses the requests that carry a traceparent; nil chooses none. It is made anew for each run.
	Tracing *traceid.Sampler `json:"-"`
	// Embedded: the server is a child of this program, started for the run with the extra arguments EmbeddedArgs.
	Embedded     bool     `json:"embedded,omitempty"`
	EmbeddedArgs []string `json:"embedded_args,omitempty"`
	// Timeout is the deadline of one request. Connections is the number of gRPC connections; 0 chooses.
	Timeout     time.Duration `json:"timeout"`
	Connections int           `json:"connections,omitempty"`
	// MaxResponse is the most bytes of one response, packed and unpacked, all messages of a stream together; 0 chooses:
	// see ResponseLimit.
	MaxResponse int64 `json:"max_response_bytes,omitempty"`
	// Extensions is a policy: which extensions of the KServe protocol are used.
	Extensions Extensions `json:"extensions,omitempty"`
	// Loose is a policy: the default of MaxResponse is larger, and each response in flight may have as much.
	Loose bool `json:"loose_limits,omitempty"`
	// LazyDial is a policy of kinds that do not ask the server for a model: the first request connects and reports what
	// is wrong.
	LazyDial bool `json:"lazy_dial,omitempty"`
	// StrictRepository is a policy of triton_c_api: every model of the repository must load.
	StrictRepository bool `json:"strict_repository,omitempty"`
	// OpaqueMessages is a policy of dynamic_grpc: messages come from generators alone, those before a generator's failure are
	// sent, a call counts as one response, and no expected output matches.
	OpaqueMessages bool `json:"opaque_messages,omitempty"`
	// Sources are local addresses that HTTP/1.1 connections are made from, in turns; none lets the system choose. Each
	// has ports of its own, so that several allow for more connections to one server than there are ports.
	Sources []string `json:"sources,omitempty"`
}

// Secure tells whether connections to the target use TLS. Over gRPC a flag asks for TLS, not the address.
func (t *Target) Secure() bool {
	if t.Protocol == GRPC {
		return t.TLS.GRPC
	}
	return strings.HasPrefix(strings.ToLower(t.URL), "https:")
}

// DefaultMaxResponse is the most bytes of a response of a model whose outputs are not known to be large, and of all
// responses in flight together.
const DefaultMaxResponse = 32 << 20

// looseMaxResponse is the most bytes of each response of such a model with Loose.
const looseMaxResponse = 256 << 20

// MostResponse is the largest limit that can be asked for.
const MostResponse = 1 << 40

// outputRoom is how many times as large as its outputs a response may be: as JSON a number takes several times its bytes.
const outputRoom = 8

// ResponseLimit is the most bytes of one response of a model whose outputs have the given size; 0 is not known.
func (t *Target) ResponseLimit(outputs int64) int64 {
	switch {
	case t.MaxResponse > 0:
		return t.MaxResponse
	case outputs > math.MaxInt32/outputRoom:
		return math.MaxInt32 // gRPC's own bound
	case t.Loose:
		return max(looseMaxResponse, outputs*outputRoom)
	}
	return max(DefaultMaxResponse, outputs*outputRoom)
}

// leastHeld is what each request in flight may take on average at least: the events of about six thousand tokens.
const leastHeld = 2 << 20

// HeldLimit is the most bytes that the responses in flight may take together: base, or each for every request in flight
// where that is more. A limit that the user gives is meant for each of them.
func (t *Target) HeldLimit(outputs int64) (base, each int64) {
	const buffers = 2 // of a response, while its buffer grows
	each = max(leastHeld, min(outputs, math.MaxInt32)*outputRoom*buffers)
	if t.MaxResponse > 0 || t.Loose {
		each = t.ResponseLimit(outputs) * buffers
	}
	return DefaultMaxResponse, each
}

// ModelRef names a model and perhaps a version.
type ModelRef struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Header is one extra request header, or gRPC metadata pair.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Parameter is one custom request parameter. Type is string, int or bool.
type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Type  string `json:"type"`
}

// TLS holds the settings of both transports; which apply follows from the protocol.
type TLS struct {
	GRPC            bool   `json:"grpc,omitempty"` // --ssl-grpc-use-ssl; for HTTP the URL's scheme decides
	CAFile          string `json:"ca_file,omitempty"`
	CertFile        string `json:"cert_file,omitempty"`
	KeyFile         string `json:"key_file,omitempty"`
	CertType        string `json:"cert_type,omitempty"` // PEM or DER
	KeyType         string `json:"key_type,omitempty"`
	SkipVerifyPeer  bool   `json:"skip_verify_peer,omitempty"`
	SkipVerifyHost  bool   `json:"skip_verify_host,omitempty"`
	VerifyHostLevel int    `json:"verify_host_level,omitempty"`
}

// Trace is what to ask of the server's tracer. Empty strings are left alone.
type Trace struct {
	Level        string `json:"level,omitempty"`
	Rate         string `json:"rate,omitempty"`
	Count        string `json:"count,omitempty"`
	LogFrequency string `json:"log_frequency,omitempty"`
	File         string `json:"file,omitempty"` // the server's trace file, as this machine sees it; empty: it is not read
}

// Metrics is the server's Prometheus endpoint.
type Metrics struct {
	Collect  bool          `json:"collect,omitempty"`
	URL      string        `json:"url,omitempty"`
	Interval time.Duration `json:"interval,omitempty"`
}

// Mode is how requests are started.
type Mode string

// The load modes.
const (
	Concurrency         Mode = "concurrency"
	RequestRate         Mode = "request_rate"
	CustomIntervals     Mode = "custom_intervals"
	PeriodicConcurrency Mode = "periodic_concurrency"
	SessionConcurrency  Mode = "session_concurrency"
	FixedSchedule       Mode = "fixed_schedule"
)

// Scheduled tells whether requests are due at the times of a schedule, whatever the server answers: open loop.
func (m Mode) Scheduled() bool {
	return m == RequestRate || m == CustomIntervals || m == FixedSchedule
}

// Search is how levels are visited.
type Search string

// The searches.
const (
	Linear Search = "linear"
	Binary Search = "binary"
	Single Search = "none"
)

// Distribution is the arrival process of rate mode.
type Distribution string

// The distributions.
const (
	Constant Distribution = "constant"
	Poisson  Distribution = "poisson"
)

// Load is when requests are sent.
type Load struct {
	Mode        Mode       `json:"mode"`
	Concurrency IntRange   `json:"concurrency"`
	Rate        FloatRange `json:"rate"`
	// Levels are the concurrencies or rates of a list, in its order. Concurrency or Rate is then the range from the first to the highest.
	Levels    []float64 `json:"levels,omitempty"`
	Periodic  IntRange  `json:"periodic,omitzero"`
	Period    int       `json:"request_period,omitempty"`
	Sessions  int       `json:"sessions,omitempty"`
	Intervals string    `json:"intervals_file,omitempty"`
	// Stages replace Rate by rates that follow one another; RequestRate alone has them.
	Stages       []pace.Stage `json:"stages,omitempty"`
	Distribution Distribution `json:"distribution"`
	Search       Search       `json:"search"`
	// MaxThreads bounds what a synchronous rate mode may keep in flight. MaxThreadsSet: the user gave it.
	MaxThreads    int    `json:"max_threads"`
	MaxThreadsSet bool   `json:"max_threads_set,omitempty"`
	Seed          uint64 `json:"seed"`
	// ThinkTime is how long each slot of a closed loop waits between two requests.
	ThinkTime pace.ThinkTime `json:"think_time,omitzero"`
	// MPI: coordinate with the other ranks.
	MPI bool `json:"mpi,omitempty"`
}

// Several tells whether the load has several concurrencies, or several rates; a range without an end has.
func (l *Load) Several() bool {
	c, r := l.Concurrency, l.Rate
	switch l.Mode {
	case Concurrency:
		return len(l.Levels) > 1 || c.End == 0 || c.End > c.Start
	case RequestRate:
		return len(l.Levels) > 1 || len(l.Stages) == 0 && (r.End == 0 || r.End > r.Start)
	case PeriodicConcurrency, SessionConcurrency, CustomIntervals, FixedSchedule:
	}
	return false
}

// IntRange is start:end:step. End 0 is unlimited.
type IntRange struct {
	Start int `json:"start"`
	End   int `json:"end"`
	Step  int `json:"step"`
}

// FloatRange is start:end:step. End 0 is unlimited.
type FloatRange struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Step  float64 `json:"step"`
}

// DataSource is where inputs come from.
type DataSource string

// The data sources.
const (
	Random    DataSource = "random"
	Zero      DataSource = "zero"
	Directory DataSource = "directory"
	JSONFiles DataSource = "json"
)

// SharedMemory is the kind of shared memory that carries tensors.
type SharedMemory string

// The shared memory kinds.
const (
	NoSharedMemory     SharedMemory = "none"
	SystemSharedMemory SharedMemory = "system"
	CUDASharedMemory   SharedMemory = "cuda"
)

// TensorFormat is how tensors go over HTTP.
type TensorFormat string

// The tensor formats: bytes behind the JSON of a request, which is an extension of the protocol, and numbers in it.
const (
	BinaryTensors TensorFormat = "binary"
	JSONTensors   TensorFormat = "json"
)

// Input is what requests carry.
type Input struct {
	Batch        int                `json:"batch"`
	BatchSet     bool               `json:"batch_set,omitempty"`
	Source       DataSource         `json:"source"`
	Paths        []string           `json:"paths,omitempty"`
	Shapes       map[string][]int64 `json:"shapes,omitempty"`
	StringLength int                `json:"string_length"`
	StringData   string             `json:"string_data,omitempty"`
	// Datatypes are those of inputs that a server does not state. Such a server's Shapes may begin with -1, the batch dimension.
	Datatypes map[string]tensor.Datatype `json:"datatypes,omitempty"`
	// InputFormat and OutputFormat are how tensors go over HTTP; empty leaves it to what the server can.
	InputFormat  TensorFormat `json:"input_format,omitempty"`
	OutputFormat TensorFormat `json:"output_format,omitempty"`
	Seed         uint64       `json:"seed"`

	SharedMemory     SharedMemory `json:"shared_memory"`
	OutputRegionSize int          `json:"output_region_size"`

	SequenceLength          int     `json:"sequence_length"`
	SequenceLengthSet       bool    `json:"sequence_length_set,omitempty"`
	SequenceLengthVariation float64 `json:"sequence_length_variation"`
	// SequenceStartID and SequenceIDRange say which ids sequences get. Both 0 is a range chosen at random, so that runs
	// side by side on one server do not take each other's.
	SequenceStartID uint64 `json:"sequence_start_id"`
	SequenceIDRange uint64 `json:"sequence_id_range"`
	Sequences       int    `json:"sequences"` // --num-of-sequences
	SerialSequences bool   `json:"serial_sequences,omitempty"`
	// FirstStream is a policy: a model without state gets the first stream of the input data alone.
	FirstStream bool `json:"first_stream,omitempty"`
}

// WindowMode is what ends a window.
type WindowMode string

// The window modes.
const (
	TimeWindows  WindowMode = "time_windows"
	CountWindows WindowMode = "count_windows"
)

// Measure is how a level is measured.
type Measure struct {
	Window      WindowMode    `json:"window"`
	Interval    time.Duration `json:"interval"`
	MinRequests int           `json:"min_requests"`
	// Stability is the allowed spread as a fraction: 0.1 for ten per cent.
	Stability float64 `json:"stability"`
	MaxTrials int     `json:"max_trials"`
	// OneWindow measures a level in one window of Interval instead of until three windows agree.
	OneWindow bool `json:"one_window,omitempty"`
	// Percentile stabilizes on this percentile instead of the mean; 0 is none.
	Percentile int `json:"percentile,omitempty"`
	// LatencyLimit stops the search; 0 is none.
	LatencyLimit time.Duration `json:"latency_limit,omitempty"`
	RequestCount int           `json:"request_count,omitempty"`
	WarmupCount  int           `json:"warmup_count,omitempty"`
	// FromSend reports latency from the send even in open loop.
	FromSend bool `json:"from_send,omitempty"`
	// StopOnFailure ends the run at the first failed request. Otherwise MaxErrorRate does: the share of failed
	// requests over the whole level that ends the run; 0 stops only when all of the last hundred failed.
	StopOnFailure bool    `json:"stop_on_failure,omitempty"`
	MaxErrorRate  float64 `json:"max_error_rate,omitempty"`
	// ValidErrorRate is the share of failed requests above which a run is not valid.
	ValidErrorRate float64 `json:"valid_error_rate,omitempty"`
	// Calibrate measures the error of the times after the run, at the pace of each level.
	Calibrate bool `json:"calibrate,omitempty"`
}

// DefaultErrorRate is the share of failed requests that a valid run may have unless the user says otherwise.
const DefaultErrorRate = 0.01

// Output is where results go.
type Output struct {
	CSV        string `json:"csv,omitempty"`
	VerboseCSV bool   `json:"verbose_csv,omitempty"`
	Export     string `json:"export,omitempty"`      // --profile-export-file
	ResultJSON string `json:"result_json,omitempty"` // redline's own result tree
}
