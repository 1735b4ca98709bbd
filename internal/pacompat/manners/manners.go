// Package manners is what perf_analyzer mode does differently: it sets the policies of a plan. Below the command line
// and the reports nothing asks which program a run stands for.
package manners

import "github.com/redline-bench/redline/internal/plan"

// PerfAnalyzer gives a plan the policies of perf_analyzer.
func PerfAnalyzer(p *plan.Plan) {
	p.Program = plan.PerfAnalyzer
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
