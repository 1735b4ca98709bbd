package result

import "slices"

// Tune is a search for the best configuration of a model. Result.Find is then the search for the capacity of the best one.
type Tune struct {
	// Model is the name of the model; of several that were tuned together, all names with commas between them.
	Model      string   `json:"model"`
	Objectives []string `json:"objectives"`
	// State is complete, interrupted, out of time or failed; Reason says why not everything was measured.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Remarks say what was varied, and what was not and why.
	Remarks []string   `json:"remarks,omitempty"`
	Knobs   []TuneKnob `json:"knobs"`
	// Best is the candidate with the highest capacity; nil if no candidate has one.
	Best *TuneCandidate `json:"best"`
	// Candidates are all that were measured, in the order of their first measurement.
	Candidates []TuneCandidate `json:"candidates"`
	// Space is the number of candidates that the knobs allow. Probes is the number of loads that were sent.
	Space  int `json:"space"`
	Probes int `json:"probes"`
	// Configs are the complete configurations of the best candidate: one of the model, or one of each step of an ensemble.
	Configs []TuneConfig `json:"configs,omitempty"`
}

// ClientLimited tells whether the client was the limit of the best candidate, or, where there is none, of any candidate: the server may
// then hold the objectives.
func (t *Tune) ClientLimited() bool {
	if t.Best != nil {
		return t.Best.LimitedBy != ""
	}
	return slices.ContainsFunc(t.Candidates, func(c TuneCandidate) bool { return c.LimitedBy != "" })
}

// TuneKnob is a setting that was varied, and how much it mattered.
type TuneKnob struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
	// Best are the highest capacities (inferences/s) of the candidates with each value; 0 if none was measured.
	Best []float64 `json:"best"`
	// Ratio is the capacity of the best candidate divided by the lowest one among the candidates that differ from it in this
	// knob alone; 0 if none was measured.
	Ratio float64 `json:"ratio"`
}

// TuneCandidate is one configuration and what was measured of it.
type TuneCandidate struct {
	// Knobs are the values by the names of --vary; a whole number is a JSON number.
	Knobs map[string]any `json:"knobs"`
	// Present: the server had this configuration before.
	Present bool `json:"present,omitempty"`
	// Stage is the most thorough measurement: screen, refine or find.
	Stage string `json:"stage"`
	// Capacity is the highest load (requests/s) that holds. It is exact only after the stage find; before, it is an estimate
	// between Low and High. It is 0 if no load holds, or if the candidate failed.
	Capacity float64 `json:"capacity"`
	// Low is the highest load that holds; High the lowest that does not, null if it is not known.
	Low  float64  `json:"low"`
	High *float64 `json:"high"`
	// Inferences is the capacity in inferences/s: requests/s times the batch of a request.
	Inferences float64 `json:"inferences"`
	// LimitedBy is client if the client reached its limit before the server did: the capacity is then at least Low.
	LimitedBy string `json:"limited_by,omitempty"`
	// Failed says why there is no capacity.
	Failed string `json:"failed,omitempty"`
	// At is the load (requests/s) of the figures that follow.
	At       float64 `json:"at,omitempty"`
	Batch    int     `json:"batch"`
	AvgMs    float64 `json:"avg_ms,omitempty"`
	P50Ms    float64 `json:"p50_ms,omitempty"`
	P90Ms    float64 `json:"p90_ms,omitempty"`
	P95Ms    float64 `json:"p95_ms,omitempty"`
	P99Ms    float64 `json:"p99_ms,omitempty"`
	Achieved float64 `json:"throughput,omitempty"` // inferences/s
	// Server are mean times of a request at the server; nil if the server does not count them.
	Server *TuneServer `json:"server,omitempty"`
	// GPU are means while the load ran; nil if the server's metrics were not read.
	GPU *GPU `json:"gpu,omitempty"`
	// Pareto: no other candidate has a higher capacity at a lower p99.
	Pareto  bool    `json:"pareto,omitempty"`
	Probes  int     `json:"probes"`
	Seconds float64 `json:"seconds"`
	// Instances and MaxBatch are those of the model's configuration; empty if it is not known.
	Instances string `json:"instance_group,omitempty"`
	MaxBatch  int    `json:"max_batch_size,omitempty"`
	// Models are the figures of each model at the load At if several were tuned together. The latencies above are then those of
	// the slowest model.
	Models []TuneModel `json:"models,omitempty"`
}

// TuneModel is what one of several models did that got the load together.
type TuneModel struct {
	Model    string  `json:"model"`
	Rate     float64 `json:"rate"`       // requests/s that were sent
	Achieved float64 `json:"throughput"` // inferences/s
	AvgMs    float64 `json:"avg_ms"`
	P99Ms    float64 `json:"p99_ms"`
}

// TuneServer are mean times at the server in milliseconds.
type TuneServer struct {
	QueueMs         float64 `json:"queue_ms"`
	ComputeInputMs  float64 `json:"compute_input_ms"`
	ComputeInferMs  float64 `json:"compute_infer_ms"`
	ComputeOutputMs float64 `json:"compute_output_ms"`
}

// TuneConfig is the configuration of one model.
type TuneConfig struct {
	Model string `json:"model"`
	// Text is the complete config.pbtxt; Diff is its difference to the configuration that the server had.
	Text string `json:"text"`
	Diff string `json:"diff"`
}

// Sums are the memory in bytes and the power in watts of all GPUs together, and their mean utilization in percent. They are 0
// if nothing is known.
func (g *GPU) Sums() (memory, power, utilization float64) {
	if g == nil {
		return 0, 0, 0
	}
	for _, v := range g.MemoryUsed {
		memory += float64(v)
	}
	for _, v := range g.PowerWatts {
		power += v
	}
	for _, v := range g.Utilization {
		utilization += 100 * v / float64(len(g.Utilization))
	}
	return memory, power, utilization
}
