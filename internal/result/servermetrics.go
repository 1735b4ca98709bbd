package result

// ServerMetrics is what the server's own metrics reported during a level, in steps of equal length. Requests, latency and
// these values have one time axis: both start times are wall-clock times of this machine.
type ServerMetrics struct {
	StartUnixNs int64          `json:"start_unix_ns"`
	StepNs      int64          `json:"step_ns"`
	Series      []ServerSeries `json:"series"`           // metrics that have a common name
	Others      []ServerValue  `json:"others,omitempty"` // the other metrics, by the server's own names
	Reads       int            `json:"reads"`            // pages that were read
	FailedReads int            `json:"failed_reads,omitempty"`
	Restarts    int            `json:"restarts,omitempty"` // times that the server began again
	Resets      int            `json:"resets,omitempty"`   // counters that became smaller without a restart
	// Notes say what is missing from the numbers, and why.
	Notes []string `json:"notes,omitempty"`
	// PowerWatts is the power of all GPUs together in the measured windows. Energy is power divided by the throughput.
	PowerWatts         float64 `json:"power_watts,omitempty"`
	JoulesPerInference float64 `json:"joules_per_inference,omitempty"`
	JoulesPerToken     float64 `json:"joules_per_token,omitempty"` // per output token
}

// ServerSeries is one quantity of the server over time.
type ServerSeries struct {
	Name  string `json:"name"`  // common name: requests_waiting
	Title string `json:"title"` // for people: Requests waiting
	Unit  string `json:"unit"`
	From  string `json:"from"`         // the server's own name
	Of    string `json:"of,omitempty"` // the GPU
	// Avg and Max are over the measured windows; Known is false if there is no value in these.
	Avg   float64 `json:"avg"`
	Max   float64 `json:"max"`
	Known bool    `json:"known"`
	// Values has one value per step; nil where there is none.
	Values []*float64 `json:"values"`
}

// ServerValue is one metric that has no common name, over the whole level. A counter is an increase per second.
type ServerValue struct {
	Name string  `json:"name"` // with its labels
	Unit string  `json:"unit,omitempty"`
	Avg  float64 `json:"avg"`
	Max  float64 `json:"max"`
}
