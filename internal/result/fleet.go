package result

// Fleet is the workers of a run that several made together.
type Fleet struct {
	Run     string   `json:"run"` // its name
	Members []Member `json:"workers"`
	// StartSkewNs is the largest difference between two workers' starts of a level, measured with clocks that are known to within
	// ClockErrorNs.
	StartSkewNs  int64 `json:"start_skew_ns"`
	ClockErrorNs int64 `json:"clock_error_ns"`
}

// Member is a worker.
type Member struct {
	Name     string `json:"name"`
	Host     string `json:"host,omitempty"`
	Version  string `json:"version,omitempty"`
	MaxProcs int    `json:"max_procs"`
	// ClockErrorNs bounds the error of the offset between its clock and the coordinator's: half of the shortest exchange.
	ClockErrorNs int64 `json:"clock_error_ns"`
	// Lost is why the worker left the run early; empty if it did not. LostUnixNs is when that was noticed.
	Lost       string `json:"lost,omitempty"`
	LostUnixNs int64  `json:"lost_unix_ns,omitempty"`
	// Records are the records that came from the worker, of all levels with their warm-ups.
	Records uint64 `json:"records"`
}

// Worker is what one worker did in the merged windows of a level. Its percentiles are within 0.1 %.
type Worker struct {
	Name          string  `json:"name"`
	Requests      uint64  `json:"requests"`
	Failed        uint64  `json:"failed"`
	InferPerSec   float64 `json:"infer_per_sec"`
	P50Ns         int64   `json:"p50_ns"`
	P99Ns         int64   `json:"p99_ns"`
	Health        Health  `json:"health"`
	ClientLimited bool    `json:"client_limited,omitempty"`
	Lost          string  `json:"lost,omitempty"`
}
