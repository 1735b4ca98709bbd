// Package result is the tree that every report reads: the plan, the measurements of each level, the server's counts, the
// client health, and the verdict. It is plain data with a schema number; times are nanoseconds unless a name says
// otherwise.
package result

import (
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Schema is the version of the JSON form of Result. It grows when a field changes its meaning.
const Schema = 2

// Result is one run.
type Result struct {
	Schema      int            `json:"schema"`
	Tool        string         `json:"tool"`
	Version     string         `json:"version"`
	StartUnixNs int64          `json:"start_unix_ns"`
	EndUnixNs   int64          `json:"end_unix_ns"`
	Environment Environment    `json:"environment"`
	Plan        *plan.Plan     `json:"plan"`
	Model       *service.Model `json:"model,omitempty"`
	// Command is the command that made the run, CommandLine the whole command line without secrets, Label the user's name
	// for the run, Workload a hash of what was sent.
	Command     string `json:"command,omitempty"`
	CommandLine string `json:"command_line,omitempty"`
	Label       string `json:"label,omitempty"`
	Workload    string `json:"workload,omitempty"`
	// RunID names the run in what is sent to other tools, Telemetry is what arrived there.
	RunID     string `json:"run_id,omitempty"`
	Telemetry []Sent `json:"telemetry,omitempty"`
	// Scenario is the name that a scenario file gives itself; empty for other runs.
	Scenario string `json:"scenario,omitempty"`
	// GoodputBounds are the bounds that a good request keeps, as "time_to_first_token:200"; empty where none were given.
	GoodputBounds string `json:"goodput_bounds,omitempty"`
	// Options are those of the command line without secrets, such as "--concurrency=4"; a run of profile has none: Plan has all of it.
	Options []string `json:"options,omitempty"`
	// Async and Batch are the values that the run chose after it had read the model's description.
	Async  bool    `json:"async"`
	Levels []Level `json:"levels"`
	// Classes are the traffic classes of a scenario, in its order, and Whole is what all of them did together. Both are empty
	// for other runs. Levels have the name of their class.
	Classes []Class `json:"classes,omitempty"`
	Whole   *Level  `json:"whole,omitempty"`
	Verdict Verdict `json:"verdict"`
	Checks  []Check `json:"checks,omitempty"` // rules and the baseline that the run was held to
	// Find is the search of 'redline find'; nil for other commands. Levels are then the confirmations.
	Find *Find `json:"find,omitempty"`
	// Tune is the search of 'redline tune'; nil for other commands. Find is then the search of its best candidate.
	Tune *Tune `json:"tune,omitempty"`
	// Floors are the errors that 'redline calibrate' measured; other commands have none.
	Floors      []calibrate.Floor `json:"floors,omitempty"`
	Interrupted bool              `json:"interrupted,omitempty"`
	// Fleet is the fleet that made the load; nil where one process made it.
	Fleet *Fleet `json:"fleet,omitempty"`
	// Error is why the run ended early; empty if it did not.
	Error string `json:"error,omitempty"`
}

// Public returns the result without the secrets of its plan.
func (r *Result) Public() *Result {
	c := *r
	c.Plan = r.Plan.Public()
	c.Classes = slices.Clone(r.Classes)
	for i := range c.Classes {
		c.Classes[i].Plan = c.Classes[i].Plan.Public()
	}
	return &c
}

// Class is one traffic class of a scenario: a run of profile or llm beside the others.
type Class struct {
	Name    string         `json:"name"`
	Command string         `json:"command"` // profile or llm
	Plan    *plan.Plan     `json:"plan"`
	Model   *service.Model `json:"model,omitempty"`
	// Options are those of the class without secrets, such as "--concurrency=4".
	Options  []string `json:"options"`
	Workload string   `json:"workload,omitempty"` // hash of what was sent
	Verdict  Verdict  `json:"verdict"`
	// Error is why the class ended early; empty if it did not.
	Error string `json:"error,omitempty"`
}

// Check is the outcome of one rule at one level, or of one comparison with a baseline.
type Check struct {
	Rule  string `json:"rule"`
	Level string `json:"level,omitempty"`
	OK    bool   `json:"ok"`
	// Objective: the rule is an objective of a search or of a scenario, not a rule of --assert.
	Objective bool `json:"objective,omitempty"`
	// Unknown: the measurement does not show whether the rule holds.
	Unknown bool `json:"unknown,omitempty"`
	// Text says what was found: "p99 is 61.2 ms".
	Text string `json:"text"`
}

// Environment is the machine that made the load.
type Environment struct {
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Go       string `json:"go"`
	CPUs     int    `json:"cpus"`
	MaxProcs int    `json:"max_procs"`
	Hostname string `json:"hostname,omitempty"`
}

// PromptsKey is the name of a level's prompts as a part of names of files and values of columns: "isl100_osl20".
func PromptsKey(prompts string) string {
	return strings.NewReplacer(", ", "_", " ", "").Replace(prompts)
}

// Level is one concurrency or rate.
type Level struct {
	// Class is the traffic class of a scenario that the level belongs to; empty for other runs.
	Class       string    `json:"class,omitempty"`
	Mode        plan.Mode `json:"mode"`
	Concurrency int       `json:"concurrency,omitempty"`
	Rate        float64   `json:"rate,omitempty"`
	// Prompts names what the level asks for if other levels of the run differ in that, as "isl 100, osl 20".
	Prompts string `json:"prompts,omitempty"`
	// Stages are the rates, or the numbers of conversations, of a level that changes; Rate is then the mean rate, if known.
	Stages []pace.Stage `json:"stages,omitempty"`
	// Windows are all windows in order; Used is how many of the last were merged into Client and Server, except for those Dead
	// at the end in which no request got a response, as after the server's death.
	Windows []Window `json:"windows"`
	Used    int      `json:"used"`
	Dead    int      `json:"dead,omitempty"`
	// Accepted: the level is part of the result. Stable: the level met the stability rule; Reason says why not.
	Accepted bool   `json:"accepted"`
	Stable   bool   `json:"stable"`
	Reason   string `json:"reason,omitempty"`
	// Untested: no stability rule was applied, as with a fixed number of requests and for language models; Stable says nothing then.
	Untested bool `json:"stability_untested,omitempty"`
	// LatencyUnstable: only the throughput was stable (asynchronous calls accept that).
	LatencyUnstable bool `json:"latency_unstable,omitempty"`
	// Idle: this process had nothing to send at this level; the other segments of the load had all of it.
	Idle bool `json:"idle,omitempty"`
	// Unfinished: a failure or the user ended the level early.
	Unfinished bool `json:"unfinished,omitempty"`
	// OverLimit: the latency reached the limit that the user set.
	OverLimit bool      `json:"over_limit,omitempty"`
	Client    Client    `json:"client"`
	Server    *Server   `json:"server,omitempty"`
	Hold      *Hold     `json:"server_hold,omitempty"`
	GPU       *GPU      `json:"gpu,omitempty"`
	Failures  []Failure `json:"failures,omitempty"`
	Health    Health    `json:"health"`
	// ServerTraces are the slowest requests with the spans of client and server (--trace-file).
	ServerTraces *ServerTraces `json:"server_traces,omitempty"`
	// ServerMetrics are the server's own metrics during the level (--server-metrics).
	ServerMetrics *ServerMetrics `json:"server_metrics,omitempty"`
	// ClientLimited: the client, not the server, set the numbers of this level; the verdict has the reasons.
	ClientLimited bool `json:"client_limited,omitempty"`
	// ServerFailed: more requests failed than a valid level may have; the verdict says since when and how.
	ServerFailed bool `json:"server_failed,omitempty"`
	// TooShort: requests in flight at the end leave a percentile open; the verdict says which.
	TooShort bool `json:"too_short,omitempty"`
	// Metrics are named numbers, such as "time_to_first_token" of a language model.
	Metrics []Metric `json:"metrics,omitempty"`
	// Histogram is the distribution of the headline latency over the merged windows, Timeline what happened over the
	// whole level, unmeasured parts included.
	Histogram *Histogram `json:"histogram,omitempty"`
	Timeline  *Timeline  `json:"timeline,omitempty"`
	// Batches divide the time of the merged windows into a few parts; empty if that time is too short.
	Batches []Batch `json:"batches,omitempty"`
	// Workers are what the workers of a fleet did in the merged windows, in the order of their numbers.
	Workers []Worker `json:"workers,omitempty"`
	// Parts are the figures of each model if several got the load together (redline tune --weights). The counts and rates of the
	// level are then sums, and its latencies are those of the slowest model, by p99.
	Parts []Level `json:"parts,omitempty"`
}

// Part is the part of the level with the name of a class; the level itself if it has no such part.
func (lv *Level) Part(class string) *Level {
	for i := range lv.Parts {
		if lv.Parts[i].Class == class {
			return &lv.Parts[i]
		}
	}
	return lv
}

// Window is one measurement window. Error is set if it could not be measured.
type Window struct {
	StartUnixNs int64   `json:"start_unix_ns"`
	EndUnixNs   int64   `json:"end_unix_ns"`
	Client      Client  `json:"client"`
	Server      *Server `json:"server,omitempty"`
	Error       string  `json:"error,omitempty"`
}

// RequestsFailed is the Error of a window by count that failed requests ended.
const RequestsFailed = "requests failed"

// Client is what the client saw in one window, or in the merged windows of a level.
type Client struct {
	Requests  uint64 `json:"requests"`
	Responses uint64 `json:"responses"`
	Sequences uint64 `json:"sequences"`
	Delayed   uint64 `json:"delayed"`
	Failed    uint64 `json:"failed"`
	// Unanswered counts the Requests that succeeded without a response, which a decoupled model may do.
	Unanswered uint64 `json:"requests_without_response,omitempty"`
	// Resent counts the requests, failed ones too, that were sent again because the server had left their connection or refused them before a
	// response. Their latency starts at the first send.
	Resent uint64 `json:"requests_sent_again,omitempty"`
	// Unfinished counts the requests in flight at the end; OldestNs is the age of the oldest, measured like Latency.
	Unfinished uint64 `json:"requests_in_flight_at_end,omitempty"`
	OldestNs   int64  `json:"oldest_in_flight_ns,omitempty"`
	DurationNs int64  `json:"duration_ns"`
	// Rates are per second of DurationNs, except with a fixed number of requests: see measure.Window.Steady. Infer counts requests
	// times the batch size.
	InferPerSec    float64 `json:"infer_per_sec"`
	ResponsePerSec float64 `json:"response_per_sec"`
	SequencePerSec float64 `json:"sequence_per_sec"`
	SendRate       float64 `json:"send_rate"`
	// Latency is the headline latency; Sent starts at the send time, Due at the due time (equal in closed loop), First is
	// the time to the first response of streamed requests.
	Latency Metric  `json:"latency"`
	Sent    Metric  `json:"latency_from_send"`
	Due     Metric  `json:"latency_from_due"`
	First   *Metric `json:"latency_first_response,omitempty"`
	// OverheadPercent is the share of time in which a request should have been in flight and was not.
	OverheadPercent float64 `json:"overhead_percent"`
	// Averages of the parts of a request, in nanoseconds: the whole call, sending it, receiving its response.
	CallNs uint64 `json:"call_ns"`
	SendNs uint64 `json:"send_ns"`
	RecvNs uint64 `json:"recv_ns"`
	// Bytes is the payload of a request and its responses together, on average; RequestBytes and ResponseBytes are its parts.
	Bytes         uint64 `json:"bytes"`
	RequestBytes  uint64 `json:"request_bytes"`
	ResponseBytes uint64 `json:"response_bytes"`
}

// Server is what the server counted during the windows: the model first, then its composing models.
type Server struct {
	Stats service.ModelStats `json:"stats"`
	// Cache: reports show the cache lines of this model.
	Cache     bool     `json:"cache,omitempty"`
	Composing []Server `json:"composing,omitempty"`
}

// GPU holds averages by GPU id, from the server's metrics.
type GPU struct {
	Utilization map[string]float64 `json:"utilization"`
	PowerWatts  map[string]float64 `json:"power_watts"`
	MemoryUsed  map[string]uint64  `json:"memory_used_bytes"`
	MemoryTotal map[string]uint64  `json:"memory_total_bytes"`
}

// maxText limits the bytes of a failure's text that a result keeps.
const maxText = 64 << 10

// FailureText shortens a text to what a Failure keeps: all of it, unless it is very long.
func FailureText(text string) string {
	if len(text) <= maxText {
		return text
	}
	return text[:maxText] + "..."
}

// Failure groups failed requests by class and text.
type Failure struct {
	Class string `json:"class"`
	Text  string `json:"text"`
	Count uint64 `json:"count"`
	Slot  int    `json:"slot"` // of the first
}

// Health is the client health over the measured windows.
type Health struct {
	LagP50Ns         int64   `json:"lag_p50_ns"`
	LagP99Ns         int64   `json:"lag_p99_ns"`
	LagMaxNs         int64   `json:"lag_max_ns"`
	AskedRate        float64 `json:"asked_rate,omitempty"`
	AchievedRate     float64 `json:"achieved_rate"`
	AskedInFlight    float64 `json:"asked_in_flight,omitempty"`
	AchievedInFlight float64 `json:"achieved_in_flight"`
	// CPUCores is this process's CPU time per wall time, in cores; MachineShare the same for the whole machine's busy time as a fraction of
	// all its cores, MachineCores. StealShare is the part of MachineShare that a hypervisor gave to other machines.
	CPUCores     float64 `json:"cpu_cores"`
	MachineShare float64 `json:"machine_share"`
	MachineCores float64 `json:"machine_cores,omitempty"`
	StealShare   float64 `json:"steal_share,omitempty"`
	// ServerHere: the server ran on the machine that made the load.
	ServerHere      bool  `json:"server_on_client_machine,omitempty"`
	CPUPerRequestNs int64 `json:"cpu_per_request_ns"`
	GCPauseMaxNs    int64 `json:"gc_pause_max_ns"`
	SchedDelayMaxNs int64 `json:"sched_delay_max_ns"`
	// ReadLag is how long responses had arrived but were not read; nil if the kernel does not record arrival times.
	ReadLag *ReadLag `json:"read_lag,omitempty"`
	// Connections is the number of connections that carry many requests at once, and ConnectionBusy the share of the time in which
	// the busiest of them worked. MoreConnections is set if a connection limits the throughput: that many would spread its work
	// over the processors that are free.
	Connections     int     `json:"connections,omitempty"`
	ConnectionBusy  float64 `json:"connection_busy,omitempty"`
	MoreConnections int     `json:"more_connections,omitempty"`
	Dropped         uint64  `json:"dropped"` // due requests that were never sent
	// StalledNs is how long ended requests waited because the records of earlier ones were not written fast enough.
	StalledNs int64 `json:"stalled_ns,omitempty"`
	// StandstillNs is the longest time in which the whole process did not run; 0 if there was none of 100 ms or more.
	StandstillNs int64 `json:"standstill_ns,omitempty"`
	// Error is the calibrated error of the times; nil if nothing was calibrated.
	Error *MeasurementError `json:"measurement_error,omitempty"`
	// ErrorUnknown is why Error cannot be measured at all.
	ErrorUnknown string `json:"measurement_error_unknown,omitempty"`
	// ErrorLater: Error will be measured after the run.
	ErrorLater bool `json:"-"`
	// Times is the source of a language model's response times: "arrival" (recorded by the kernel) or "read".
	Times string `json:"times,omitempty"`
}

// ConnectionGain is how many times as much MoreConnections can do, about. The work of the busiest connection is spread; the rest
// of the time, in which it waits for the server, stays as it is.
func (h *Health) ConnectionGain() float64 {
	return 1 / (1 - h.ConnectionBusy + h.ConnectionBusy*float64(h.Connections)/float64(h.MoreConnections))
}

// MeasurementError is the client's time minus the time in the log of a reference server, which delayed its responses so that
// requests had the pace of the run. A positive error means that the client reports more than the server took.
type MeasurementError struct {
	// P50Ns and P99Ns are percentiles over requests; if Tokens is set, over the arrival times of tokens. P99Ns is the upper
	// bound of a confidence interval of 95 %.
	P50Ns int64 `json:"p50_ns"`
	P99Ns int64 `json:"p99_ns"`
	// AtLeast: too few requests were compared for a bound; P99Ns is the largest error seen.
	AtLeast bool `json:"p99_at_least,omitempty"`
	// Exact: this traffic was calibrated at this pace. Otherwise Of names the calibrated traffic.
	Exact     bool        `json:"exact,omitempty"`
	Of        string      `json:"of,omitempty"`
	PerSecond float64     `json:"per_second"` // pace of the calibration: requests or tokens per second
	Requests  int         `json:"requests"`   // number of compared requests
	Tokens    *TokenError `json:"tokens,omitempty"`
	Notes     []string    `json:"notes,omitempty"` // why the true error may differ
}

// TokenError is the error of the mean time to the first token and of the mean time between tokens.
type TokenError struct {
	TTFTNs int64 `json:"ttft_ns"`
	ITLNs  int64 `json:"itl_ns"`
}

// ReadLag is computed over requests: for each, the longest time for which a part of its response had arrived but was not
// read. No latency includes it, because the times of these responses are arrival times.
type ReadLag struct {
	P50Ns int64 `json:"p50_ns"`
	P99Ns int64 `json:"p99_ns"`
	MaxNs int64 `json:"max_ns"`
}

// Verdict says whether the numbers can be trusted.
type Verdict struct {
	State   State    `json:"state"`
	Reasons []Reason `json:"reasons,omitempty"`
}

// State is the verdict in one word.
type State string

// The states. If several apply, the verdict is the last of them in this order; its reasons name the others.
const (
	Valid         State = "valid"
	Unstable      State = "unstable"       // some levels did not meet the stability rule
	TooShort      State = "too-short"      // too few requests ended to judge, or too many were in flight at the end
	ClientLimited State = "client-limited" // the client, not the server, limited a level
	Failed        State = "failed"         // the run could not be completed
	ServerFailed  State = "server-failed"  // too many requests failed
	Interrupted   State = "interrupted"    // the user ended the run
)

// Words are the words that a result has for its states, and those of its plan.
func Words() []string {
	states := []State{Valid, Unstable, TooShort, ClientLimited, Failed, ServerFailed, Interrupted}
	return append(plan.Words(), convert.All(states, func(s State) string { return string(s) })...)
}

// Judged tells whether the rules of a run in this state can be judged. In the other states a missed rule may be the fault of the
// client or of an interruption.
func (s State) Judged() bool { return s == Valid || s == Unstable }

// Reason is one reason of a verdict, with advice.
type Reason struct {
	What string `json:"what"`
	Try  string `json:"try"`
	// Late: requests were sent late, and nothing else is wrong.
	Late bool `json:"-"`
}
