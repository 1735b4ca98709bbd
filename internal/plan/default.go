package plan

import "time"

// Default is the draft of a run in which everything that has a default has it: Triton over HTTP, one request in flight. It
// lacks a model.
func Default() Plan {
	p := Plan{
		Outcome: DefaultOutcome(),
		Target:  Target{Kind: Triton, Call: Auto, Timeout: 600 * time.Second},
		Load: Load{
			Mode:        Concurrency,
			Concurrency: IntRange{Start: 1, End: 1, Step: 1}, Rate: FloatRange{Start: 1, End: 1, Step: 1},
			Distribution: Constant, Search: Linear, MaxThreads: 16,
		},
		Input: Input{
			Batch: 1, Source: Random, StringLength: 128, SharedMemory: NoSharedMemory, OutputRegionSize: 100 * 1024,
			SequenceLength: 20, SequenceLengthVariation: 20, Sequences: 4,
		},
		Measure: Measure{
			Window: TimeWindows, Interval: 5 * time.Second, MinRequests: 50, Stability: 0.1, MaxTrials: 10,
			ValidErrorRate: DefaultErrorRate,
		},
	}
	p.Target.Over(HTTP)
	return p
}

// Over sets a protocol, with the usual address of a Triton and the usual settings of TLS.
func (t *Target) Over(p Protocol) {
	t.Protocol, t.URL, t.TLS = p, p.Address(), TLS{}
	if p == HTTP {
		t.TLS = TLS{CertType: "PEM", KeyType: "PEM", VerifyHostLevel: 2}
	}
}
