package report

import (
	"fmt"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// almostBusy is the share of a machine in use from which a reader wonders whether the client could keep up.
const almostBusy = 0.9

// Notes are sentences that keep a verdict from being misread: that the machine was busy although the client kept up, and that client
// and server shared a machine.
func Notes(r *result.Result) []string {
	if !r.Verdict.State.Judged() {
		return nil
	}
	lv := busiest(r)
	if lv == nil {
		return nil
	}
	h := &lv.Health
	cores := fmt.Sprintf("%s of %s", unit.Digits(h.CPUCores, 2), unit.Count(int(h.MachineCores+0.5), "core"))
	embedded := r.Plan != nil && r.Plan.Target.Embedded
	switch busy := h.MachineShare >= almostBusy; {
	case busy && h.ServerHere:
		return []string{fmt.Sprintf("At %s the machine was %.0f %% busy. The client needed %s and sent in time, so its numbers hold; the server had no more than the rest, and may do more on a machine of its own.",
			measure.LevelName(lv), 100*h.MachineShare, cores)}
	case busy:
		return []string{fmt.Sprintf("At %s the machine was %.0f %% busy. The client needed %s and sent in time, so its numbers hold; other processes used the rest.",
			measure.LevelName(lv), 100*h.MachineShare, cores)}
	case h.ServerHere && !embedded:
		return []string{fmt.Sprintf("By its address, the server runs on this machine too: client and server share its cores, of which the client used %s.", cores)}
	}
	return nil
}

// busiest is the level at which the machine of the client was busiest; nil if no level knows its machine.
func busiest(r *result.Result) (most *result.Level) {
	for i := range r.Levels {
		if lv := &r.Levels[i]; lv.Health.MachineCores > 0 && (most == nil || lv.Health.MachineShare > most.Health.MachineShare) {
			most = lv
		}
	}
	return most
}
