package result

// Histogram is a distribution of nanoseconds in ascending buckets whose edges grow by a fixed ratio, so that a few hundred
// buckets are enough for any number of requests.
type Histogram struct {
	Buckets []Bucket `json:"buckets"`
}

// Bucket counts the values above the previous bucket and up to UpToNs.
type Bucket struct {
	UpToNs int64  `json:"le"`
	Count  uint64 `json:"n"`
}

// Timeline is a level in slices of equal length. Their number is limited: longer runs have longer slices.
type Timeline struct {
	StartUnixNs int64   `json:"start_unix_ns"`
	StepNs      int64   `json:"step_ns"`
	Slices      []Slice `json:"slices"`
}

// Slice is what happened in one step of a timeline. Requests count where they end, except Sent.
type Slice struct {
	Sent   uint64 `json:"sent"`
	Ended  uint64 `json:"ended"`  // requests that succeeded
	Failed uint64 `json:"failed"` // requests that failed
	// FailedBy counts failures by class.
	FailedBy map[string]uint64 `json:"failed_by,omitempty"`
	// InFlight is the average number of requests in flight, Asked the rate of the schedule.
	InFlight float64 `json:"in_flight"`
	Asked    float64 `json:"asked,omitempty"`
	AvgNs    int64   `json:"avg"`
	P50Ns    int64   `json:"p50"`
	P90Ns    int64   `json:"p90"`
	P99Ns    int64   `json:"p99"`
	MaxNs    int64   `json:"max"`
	// Heat is the distribution of the slice's latencies.
	Heat []Bucket `json:"heat,omitempty"`
	// Events counts streamed responses; FirstP50Ns and FirstP99Ns are the times to the first one.
	Events     uint64 `json:"events,omitempty"`
	FirstP50Ns int64  `json:"first_p50,omitempty"`
	FirstP99Ns int64  `json:"first_p99,omitempty"`
	// Tokens counts tokens of language models; GapP50Ns and GapP99Ns are the times between their arrivals.
	Tokens   float64 `json:"tokens,omitempty"`
	GapP50Ns int64   `json:"gap_p50,omitempty"`
	GapP99Ns int64   `json:"gap_p99,omitempty"`
}

// Batch is one of a few parts of equal length of the merged windows' time. The differences between batches show how
// uncertain the level's numbers are.
type Batch struct {
	DurationNs int64  `json:"duration_ns"`
	Ended      uint64 `json:"ended"`  // requests that succeeded in this batch
	SumNs      int64  `json:"sum_ns"` // of the headline latencies
	// Counts are the headline latencies as a histogram: numbers of buckets of stats.Octave, each followed by its count.
	Counts []uint64 `json:"counts"`
}
