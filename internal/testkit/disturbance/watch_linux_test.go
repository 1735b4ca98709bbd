package disturbance

import (
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// CPU time of a child that ended, and of a child that still runs, is the test's own: it is taken off what the
// machine used.
func TestChildrenAreOwnLoad(t *testing.T) {
	before := readCounters()
	ended := exec.CommandContext(t.Context(), "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	used := ended.ProcessState.UserTime() + ended.ProcessState.SystemTime()
	running := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	// It must have used a few ticks before the counters are read; how long that takes does not matter.
	const more = 10 * tick
	for ownTime() < before.own+used+more {
		time.Sleep(tick)
	}
	after := readCounters()
	_ = running.Process.Kill()
	_ = running.Wait() // it was killed
	used += running.ProcessState.UserTime() + running.ProcessState.SystemTime()
	// Nothing is counted twice. The times of a process and those of the machine differ where a hypervisor takes CPU time, so that only times
	// of processes are compared.
	var self unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &self); err != nil {
		t.Fatal(err)
	}
	used += time.Duration(self.Utime.Nano() + self.Stime.Nano())
	if own := after.own - before.own; own > used+3*tick { // the counters are exact to a few ticks
		t.Errorf("%v were counted as the test's own time, of which it used at most %v", own, used)
	}
}

// A process that is no descendant is other work.
func TestOrphansAreOtherLoad(t *testing.T) {
	// The loop outlives the shell that started it, so that it belongs to another parent. It ends after a while.
	if err := exec.CommandContext(t.Context(), "sh", "-c", "timeout 20 sh -c 'while :; do :; done' >/dev/null 2>&1 &").Run(); err != nil {
		t.Fatal(err)
	}
	w := Start()
	for start := readCounters(); ; time.Sleep(tick) {
		now := readCounters()
		if foreign := (now.busy - start.busy) - (now.own - start.own); foreign > 50*tick {
			break // on a busy machine the loop gets its share later
		}
	}
	if r := w.Stop(); r.ForeignCores == 0 {
		t.Errorf("a busy loop of another process was not seen: %v", r)
	}
}
