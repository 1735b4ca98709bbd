// Package manners is what perf_analyzer mode does differently: it sets the policy values of a plan. Below the command line
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

	l := &p.Load
	l.PerThread = true
	l.StopUnstable = true
	l.AcceptUnstable = true // perf_analyzer does not search over custom intervals
	l.BinarySteps, l.LenientIntervals = true, true

	in := &p.Input
	in.InputFormat, in.OutputFormat = plan.BinaryTensors, plan.BinaryTensors
	in.OverlapSequences = true // a server then refuses some requests
	in.FirstStream = true

	m := &p.Measure
	m.FromSend, m.EndedOnly, m.NearestRank, m.WholeTime = true, true, true, true
	m.LimitStable = true
	m.StopOnFailure = true
	m.IgnoreWarmup = true
	m.NeedStatistics = true
}
