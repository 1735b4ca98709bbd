// Package doctor finds what stands in the way of a good measurement on this machine: limits, CPU quotas, other
// programs, slow clocks, and a server that does not answer.
//
// Each check is a value with a state, what was found, and the fix. Checks of the machine are functions of a file system
// with /proc and /sys, so that tests hand in small trees; what no file tells is measured by the functions of a Machine.
// Where a system has no such file, the check says that its subject is not known there.
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

// notKnown is the finding where the system does not tell.
const notKnown = "not known here"

func unknown(name string) Check { return Check{Name: name, State: Unknown, Found: notKnown} }

// Machine is what the checks look at.
type Machine struct {
	// Root holds proc, sys and dev.
	Root fs.FS
	// CPUs is the number of cores that the process may run on.
	CPUs int
	// Watch is the time between the two readings of the CPU counters.
	Watch time.Duration
	// ReadClock measures what one reading of the clock costs.
	ReadClock func() time.Duration
	// Stamped reports whether the kernel notes when data arrives on a connection. The error says why that is not known.
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

// Worst is the most serious state of some checks; what is not known counts as OK.
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

// errUnsupported is the error of a Machine's functions on systems that do not have what they look for.
var errUnsupported = errors.New(notKnown)
