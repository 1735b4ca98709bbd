package flags

import "github.com/redline-bench/redline/internal/plan"

// behaveAsPerfAnalyzer gives a draft everything that perf_analyzer does otherwise. Nothing else does.
func behaveAsPerfAnalyzer(p *plan.Plan) {
	p.Outcome = plan.Outcome{} // perf_analyzer has none of these options

	t := &p.Target
	t.Loose = true // perf_analyzer limits no response
	t.Extensions = plan.NeedExtensions
	t.LibcurlAgent = true
	t.LazyDial, t.StrictRepository, t.OpaqueMessages = true, true, true

	in := &p.Input
	in.InputFormat, in.OutputFormat = plan.BinaryTensors, plan.BinaryTensors
	in.FirstStream = true
	p.Measure.FromSend, p.Measure.StopOnFailure = true, true

	p.Policies = plan.Policies{
		PerThread: true, OverlapSequences: true, BinarySteps: true, LenientIntervals: true, LeaveToServer: true,
		StopUnstable: true, AcceptUnstable: true, // perf_analyzer does not search over custom intervals
		EndedOnly: true, NearestRank: true, WholeTime: true, LimitStable: true, IgnoreWarmup: true, NeedStatistics: true,
		BareReport: true, AllOrNothing: true,
	}
}

// exportAsPerfAnalyzer settles what the export of a service kind shows.
func exportAsPerfAnalyzer(p *plan.Plan) {
	switch p.Target.Kind {
	case plan.TFServing:
		p.Policies.ExportNames = plan.NamesOfInputs
	case plan.TorchServe, plan.DynamicGRPC:
		p.Policies.ExportNames = plan.NamesOfTensors
	case plan.Triton, plan.TritonCAPI, plan.OpenAI: // those of the outputs
	}
}
