// Package doctor finds problems of this machine that would spoil a measurement: limits, CPU quotas, other programs, slow clocks,
// and a server that does not respond.
//
// Each check has a state, a finding, and the fix. Checks of the machine are functions of a file system with /proc and /sys, so that
// tests can use small trees; the functions of a Machine measure what is in no file. If a system does not have a file, the check is
// unknown.
package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// State is the outcome of a check.
type State string

// The states: Warn can make a measurement worse, Bad makes it wrong or impossible.
const (
	OK      State = "ok"
	Warn    State = "warn"
	Bad     State = "bad"
	Unknown State = "unknown"
)

// Check is one finding.
type Check struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

// notKnown is the finding if the system does not provide the data.
const notKnown = "not known here"

func unknown(name string) Check { return Check{Name: name, State: Unknown, Found: notKnown} }

// Machine is what the checks examine.
type Machine struct {
	// Root holds proc, sys and dev.
	Root fs.FS
	// CPUs is the number of cores that the process may run on.
	CPUs int
	// Watch is the time between the two readings of the CPU counters.
	Watch time.Duration
	// ReadClock measures what one reading of the clock costs.
	ReadClock func() time.Duration
	// Stamped reports whether the kernel records when data arrives on a connection. The error says why that is unknown.
	Stamped func(context.Context) (bool, error)
	// SharedMemory is the size of /dev/shm and its free part, in bytes.
	SharedMemory func() (size, free uint64, err error)
}

// Here is the machine that the process runs on.
func Here() *Machine {
	return &Machine{
		Root: os.DirFS("/"), CPUs: runtime.NumCPU(), Watch: time.Second,
		ReadClock: clockCost, Stamped: stamped, SharedMemory: sharedMemory,
	}
}

// Run makes all checks of the machine. It takes Machine.Watch.
func (m *Machine) Run(ctx context.Context) []Check {
	before := readUsage(m.Root)
	begun := time.Now()
	list := []Check{openFiles(m.Root), localPorts(m.Root), cpuQuota(m.Root, m.CPUs), frequency(m.Root)}
	rest := []Check{clockSource(m.Root, m.ReadClock()), arrivalTimes(m.Stamped(ctx)), sharedSpace(m.SharedMemory())}
	select {
	case <-time.After(m.Watch - time.Since(begun)):
	case <-ctx.Done():
	}
	after := readUsage(m.Root)
	return append(append(list, steal(before, after), otherLoad(before, after, m.CPUs)), rest...)
}

// Worst is the most serious state of some checks; Unknown counts as OK.
func Worst(list []Check) State {
	worst := OK
	for _, c := range list {
		if c.State == Bad || c.State == Warn && worst == OK {
			worst = c.State
		}
	}
	return worst
}

// clockCost reads the clock for about a millisecond.
func clockCost() time.Duration {
	const readings = 10_000
	start := clock.Now()
	var last int64
	for range readings {
		last = clock.Now()
	}
	return time.Duration(last-start) / readings
}

// line is the content of a file of one line; "" if it cannot be read.
func line(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// errUnsupported is the error of a Machine's functions on systems that do not support them.
var errUnsupported = errors.New(notKnown)
