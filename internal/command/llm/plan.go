package llm

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/ready"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/segment"
)

// Plan is a run of `redline llm` as one checked value. The options set the fields of a draft, newPlan checks it, and nothing changes it
// afterwards. It goes both ways through JSON and stands in every result; times in JSON are in nanoseconds.
type Plan struct {
	Model     string                     `json:"model"` // several are separated by commas
	URLs      []string                   `json:"urls,omitzero"`
	Protocol  plan.Protocol              `json:"protocol,omitzero"` // -i of the Python perf tool for TensorRT-LLM; empty: by the endpoint
	Kind      string                     `json:"endpoint_type"`
	Path      string                     `json:"endpoint,omitzero"`
	Streaming bool                       `json:"streaming,omitzero"`
	NoStream  bool                       `json:"no_streaming,omitzero"`
	Headers   []plan.Header              `json:"headers,omitzero"`
	APIKey    string                     `json:"api_key,omitzero"`
	APIKeyEnv string                     `json:"api_key_env,omitzero"`
	Extra     map[string]json.RawMessage `json:"extra_inputs,omitempty"`
	Template  string                     `json:"template,omitzero"`
	Response  string                     `json:"response_field,omitzero"`
	Usage     string                     `json:"usage_fields,omitzero"`
	Legacy    bool                       `json:"legacy_max_tokens,omitzero"`
	NoUsage   bool                       `json:"no_usage,omitzero"`
	Chunks    bool                       `json:"chunk_usage,omitzero"`    // usage in every chunk
	Session   string                     `json:"session_header,omitzero"` // name of the header of a conversation
	Wait      ready.Wait                 `json:"wait_for_model,omitzero"`
	Timeout   time.Duration              `json:"timeout_ns,omitzero"` // of a request; 0: requestTimeout, and a stall ends the run
	Largest   int64                      `json:"max_response_bytes,omitzero"`
	TLS       plan.TLS                   `json:"tls,omitzero"`
	GRPCTLS   bool                       `json:"grpc_tls,omitzero"`
	HTTP      string                     `json:"http_version,omitzero"` // empty chooses
	Insecure  bool                       `json:"insecure,omitzero"`
	Conns     int                        `json:"connections,omitzero"` // over gRPC and HTTP/2; 0 chooses
	Embedded  bool                       `json:"embedded,omitzero"`

	Concurrency   []int           `json:"concurrency,omitzero"`
	Rates         []float64       `json:"request_rates,omitzero"`
	Arrival       load.Arrival    `json:"arrival_pattern"`
	Smoothness    float64         `json:"arrival_smoothness,omitzero"`
	Closed        bool            `json:"closed_loop,omitzero"` // --arrival-pattern concurrency_burst
	Stages        []pace.Stage    `json:"stages,omitzero"`
	SessionStages []pace.Stage    `json:"concurrency_stages,omitzero"`
	Ramp          time.Duration   `json:"concurrency_ramp_ns,omitzero"`
	RateRamp      time.Duration   `json:"request_rate_ramp_ns,omitzero"`
	Prefill       int             `json:"prefill_concurrency,omitzero"`
	ThinkTime     pace.ThinkTime  `json:"think_time,omitzero"`
	UserRate      float64         `json:"user_centric_rate,omitzero"`
	Users         int             `json:"num_users,omitzero"`
	Fixed         bool            `json:"fixed_schedule,omitzero"`
	NoFix         bool            `json:"no_fixed_schedule,omitzero"`
	Segment       segment.Segment `json:"segment,omitzero"`
	Requests      int             `json:"request_count,omitzero"`
	Sessions      int             `json:"num_conversations,omitzero"`      // the first of SessionCounts
	SessionCounts []int           `json:"num_conversations_list,omitzero"` // a level each
	Duration      time.Duration   `json:"duration_ns,omitzero"`
	Grace         time.Duration   `json:"grace_ns"`
	Warm          Warmup          `json:"warmup,omitzero"`
	Pause         time.Duration   `json:"level_pause_ns,omitzero"`
	RunPause      time.Duration   `json:"repeat_pause_ns,omitzero"`
	SameSeed      bool            `json:"same_seed,omitzero"`   // repeats ask the same prompts at the same times
	WarmOnce      bool            `json:"warmup_once,omitzero"` // only the first repeat has a warm-up
	Cooldown      time.Duration   `json:"cooldown_ns,omitzero"`
	CancelRate    float64         `json:"cancellation_percent,omitzero"`
	CancelDelay   *time.Duration  `json:"cancellation_delay_ns,omitzero"` // nil: CancelTokens says when
	CancelTokens  float64         `json:"cancellation_tokens_percent,omitzero"`
	MaxErrors     int             `json:"max_errors,omitzero"`
	// MaxErrorRate is the share of failed requests that ends a level; 0: none does. ValidErrorRate is the share above which a level is not valid.
	MaxErrorRate   float64 `json:"max_error_rate,omitzero"`
	ValidErrorRate float64 `json:"valid_error_rate"`
	Until          string  `json:"until,omitzero"`
	Goodput        string  `json:"goodput,omitzero"`
	Runs           int     `json:"runs"`
	Calibrate      bool    `json:"calibrate,omitzero"`
	Confidence     float64 `json:"confidence_level"`

	Data         dataset.Options `json:"prompts"`
	Inputs       []float64       `json:"input_tokens,omitzero"`  // mean lengths, a level each
	Lengths      []float64       `json:"output_tokens,omitzero"` // mean output lengths, a level each
	ExactOutput  bool            `json:"exact_output,omitzero"`
	Tokenizer    string          `json:"tokenizer,omitzero"`
	ChatTemplate bool            `json:"apply_chat_template,omitzero"`
	SystemFile   string          `json:"system_prompt_file,omitzero"`
	Spread       float64         `json:"random_range_ratio,omitzero"` // of lengths around their means, as a share
	ServerCounts bool            `json:"server_token_count,omitzero"` // even those that cannot be true, and for input lengths
	OwnCounts    bool            `json:"tokenizer_count,omitzero"`    // output lengths by the tokenizer

	Artifacts   string        `json:"artifact_dir,omitzero"`
	Prefix      string        `json:"export_prefix,omitzero"`
	Exports     string        `json:"exports,omitzero"`
	ExportLevel string        `json:"export_level,omitzero"`
	ScrapeForms string        `json:"server_metrics_formats,omitzero"`
	GPUs        []string      `json:"gpu_telemetry,omitzero"`  // pages of GPUs
	FindGPUs    bool          `json:"find_gpus,omitzero"`      // look for a page of GPUs on this machine
	SliceEvery  time.Duration `json:"slice_ns,omitzero"`       // length of time slices
	JSON        string        `json:"-"`                       // file of the result, which need not say its own name
	Outputs     bool          `json:"export_outputs,omitzero"` // outputs.json
	Console     string        `json:"console"`                 // table or blocks
	Verbose     bool          `json:"verbose,omitzero"`
	Outcome     plan.Outcome  `json:"outcome,omitzero"`
	Fleet       plan.Fleet    `json:"fleet,omitzero"`

	// Secrets are the options whose secrets were removed, as they can be shown: "--header=A: ***".
	Secrets []string `json:"secrets,omitzero"`
}

// requestTimeout is how long a request may take if the plan says nothing: AIPerf's default.
const requestTimeout = 6 * time.Hour

// with is a plan that differs from p in what edit sets. edit replaces slices and maps as a whole.
func (p *Plan) with(edit func(*Plan)) *Plan {
	c := *p
	edit(&c)
	return &c
}

// model is the first model: the one that the result, and requests before the load, name.
func (p *Plan) model() string {
	first, _, _ := strings.Cut(p.Model, ",")
	return first
}

// conversations are the numbers of conversations at once; 1 where nothing sets the load.
func (p *Plan) conversations() []int {
	if len(p.Concurrency) == 0 && len(p.modes()) == 0 {
		return []int{1}
	}
	return p.Concurrency
}

// blocks tells whether the report has the form of the Python perf tool for TensorRT-LLM.
func (p *Plan) blocks() bool { return p.Console == "blocks" }
