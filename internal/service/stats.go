package service

// ModelStats are the cumulative counters of one version of one model.
type ModelStats struct {
	Name           string `json:"name"`
	Version        string `json:"version,omitempty"`
	InferenceCount uint64 `json:"inference_count"`
	ExecutionCount uint64 `json:"execution_count"`
	Success        Tally  `json:"success"`
	Queue          Tally  `json:"queue"`
	ComputeInput   Tally  `json:"compute_input"`
	ComputeInfer   Tally  `json:"compute_infer"`
	ComputeOutput  Tally  `json:"compute_output"`
	CacheHit       Tally  `json:"cache_hit"`
	CacheMiss      Tally  `json:"cache_miss"`
}

// Tally is a number of events and the nanoseconds that they took together.
type Tally struct {
	Count uint64 `json:"count"`
	Ns    uint64 `json:"ns"`
}

// Sub is t - o; a counter that went back (a restarted server) gives zero.
func (t Tally) Sub(o Tally) Tally {
	if t.Count < o.Count || t.Ns < o.Ns {
		return Tally{}
	}
	return Tally{t.Count - o.Count, t.Ns - o.Ns}
}

// Add is t + o.
func (t Tally) Add(o Tally) Tally { return Tally{t.Count + o.Count, t.Ns + o.Ns} }

// Avg is the mean in nanoseconds, 0 when nothing was counted.
func (t Tally) Avg() uint64 {
	if t.Count == 0 {
		return 0
	}
	return t.Ns / t.Count
}

// Sub is the change of the counters since o.
func (s ModelStats) Sub(o ModelStats) ModelStats {
	return ModelStats{
		Name: s.Name, Version: s.Version,
		InferenceCount: sub(s.InferenceCount, o.InferenceCount),
		ExecutionCount: sub(s.ExecutionCount, o.ExecutionCount),
		Success:        s.Success.Sub(o.Success),
		Queue:          s.Queue.Sub(o.Queue),
		ComputeInput:   s.ComputeInput.Sub(o.ComputeInput),
		ComputeInfer:   s.ComputeInfer.Sub(o.ComputeInfer),
		ComputeOutput:  s.ComputeOutput.Sub(o.ComputeOutput),
		CacheHit:       s.CacheHit.Sub(o.CacheHit),
		CacheMiss:      s.CacheMiss.Sub(o.CacheMiss),
	}
}

// Add sums two changes.
func (s ModelStats) Add(o ModelStats) ModelStats {
	s.InferenceCount += o.InferenceCount
	s.ExecutionCount += o.ExecutionCount
	s.Success = s.Success.Add(o.Success)
	s.Queue = s.Queue.Add(o.Queue)
	s.ComputeInput = s.ComputeInput.Add(o.ComputeInput)
	s.ComputeInfer = s.ComputeInfer.Add(o.ComputeInfer)
	s.ComputeOutput = s.ComputeOutput.Add(o.ComputeOutput)
	s.CacheHit = s.CacheHit.Add(o.CacheHit)
	s.CacheMiss = s.CacheMiss.Add(o.CacheMiss)
	return s
}

func sub(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
