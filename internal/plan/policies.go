package plan

// Policies say how a run decides and reports where programs differ. Their zero values are redline's own way; one place sets others, for
// programs that read what another one writes.
type Policies struct {
	// The load.

	// PerThread: a closed loop is divided over threads, one for each synchronous request or MaxThreads for asynchronous ones.
	// Each thread sends its share of a fixed number of requests and counts its own request ids.
	PerThread bool `json:"per_thread,omitempty"`
	// OverlapSequences: asynchronous requests of a sequence may be in flight together also without a stream that keeps their order.
	OverlapSequences bool `json:"overlap_sequences,omitempty"`
	// BinarySteps: request rates add up as binary fractions, which may leave out the last level.
	BinarySteps bool `json:"binary_steps,omitempty"`
	// LenientIntervals: a number in a file of intervals ends at the first character that is no digit.
	LenientIntervals bool `json:"lenient_intervals,omitempty"`
	// LeaveToServer: a batch above the model's limit is sent, for the server to refuse, and a shape of no input is ignored.
	LeaveToServer bool `json:"leave_to_server,omitempty"`

	// The measurement.

	// StopUnstable: an unstable level ends the search.
	StopUnstable bool `json:"stop_unstable,omitempty"`
	// AcceptUnstable: an unstable level of custom intervals is no failure of the run.
	AcceptUnstable bool `json:"accept_unstable,omitempty"`
	// EndedOnly: percentiles leave out requests that are in flight at the end of a window.
	EndedOnly bool `json:"ended_only,omitempty"`
	// NearestRank: a percentile is the latency at the nearest rank, not a value between two.
	NearestRank bool `json:"nearest_rank,omitempty"`
	// WholeTime: the rates of a fixed number of requests include the wait for the last response.
	WholeTime bool `json:"whole_time,omitempty"`
	// LimitStable: only a stable level can be over Measure.LatencyLimit.
	LimitStable bool `json:"limit_stable,omitempty"`
	// IgnoreWarmup: failures of the warm-up do not end the run.
	IgnoreWarmup bool `json:"ignore_warmup,omitempty"`
	// NeedStatistics: the run ends when the server's statistics cannot be read.
	NeedStatistics bool `json:"need_statistics,omitempty"`

	// The report.

	// BareReport: the report is the text of accepted levels, without the client's health, verdict, progress in the text, or what
	// Plan.Outcome asks for. Remarks and the end of a run are in the words that other programs search for.
	BareReport bool `json:"bare_report,omitempty"`
	// AllOrNothing: a run that fails writes no files.
	AllOrNothing bool `json:"all_or_nothing,omitempty"`
	// ExportNames: the export has the names of tensors without their data.
	ExportNames ExportNames `json:"export_names,omitempty"`
}

// ExportNames are the tensors that an export names without their data; the zero value exports tensors with their data.
type ExportNames string

// The other values.
const (
	NamesOfTensors ExportNames = "tensors" // of inputs and outputs
	NamesOfInputs  ExportNames = "inputs"  // and nothing of outputs
)
