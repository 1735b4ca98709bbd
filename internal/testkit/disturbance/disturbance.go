// Package disturbance tells whether other work on the machine disturbed a measurement, and runs tests that measure.
//
// A test that compares measured times has a fixed tolerance. The machine it runs on may be shared, so a missed
// tolerance has two possible causes: the program is wrong, or something else used the cores. Watch records what
// happened beside the measurement:
//
//   - CPU time that processes outside the test's own process tree used,
//   - CPU time that a hypervisor took away (steal),
//   - how much later than asked a sleeping thread woke up, less the time it waited behind other threads of this machine:
//     what remains is time in which the whole machine stood still,
//   - threads that wanted to run, and the kernel's pressure stall information for CPU. Both include the test's own
//     threads, so they are recorded and not judged.
//
// The test's own load never counts as a disturbance, however large it is.
package disturbance

import (
	"fmt"
	"strings"
	"time"
)

// What is still a quiet machine. An idle one has up to 0.03 cores of background work.
const (
	maxForeignCores = 0.10
	maxStealShare   = 0.01
	maxStandstill   = 2 * time.Millisecond
)

// Report is what happened on the machine during a measurement.
type Report struct {
	Wall time.Duration
	// ForeignCores is the CPU time of processes outside the test's process tree, divided by Wall.
	ForeignCores float64
	// StealShare is the share of all cores' time that a hypervisor took away.
	StealShare float64
	// Standstill is the longest time in which the whole machine stood still.
	Standstill time.Duration
	// Runnable is the median number of threads that ran or wanted to, the test's own among them.
	Runnable int
	// PressureShare is the share of Wall in which some thread waited for a core.
	PressureShare float64
	// Unknown means that this system does not tell.
	Unknown bool
}

// Disturbed tells whether a missed tolerance may be the machine's fault.
func (r Report) Disturbed() bool {
	return r.ForeignCores > maxForeignCores || r.StealShare > maxStealShare || r.Standstill > maxStandstill
}

// String shows all figures in one line.
func (r Report) String() string {
	if r.Unknown {
		return "this system does not tell what else ran"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "other programs used %.2f cores, steal %.1f %%, longest standstill %.1f ms, %d runnable threads, CPU pressure %.0f %%",
		r.ForeignCores, 100*r.StealShare, float64(r.Standstill)/1e6, r.Runnable, 100*r.PressureShare)
	return b.String()
}
