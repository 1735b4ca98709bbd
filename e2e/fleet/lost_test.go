//go:build linux

package fleet_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit/disturbance"
)

// noticedWithin is the promised time from the fault of a worker until the coordinator has noticed it.
const noticedWithin = 5 * time.Second

// Of four workers one is killed, one hangs and one is cut off from NATS. The coordinator notices each within the promised time, by the time of the
// fault here and the time of the loss in the result. The fourth goes on.
func TestTimedLostWorkersAreNoticed(t *testing.T) {
	t.Parallel()
	disturbance.Try(t, func() error {
		l := open(t, 3)
		cut := newCut(t, strings.TrimPrefix(l.address, "nats://u:p@"))
		l.worker(t, "w4", "nats://u:p@"+cut.address)
		file := filepath.Join(t.TempDir(), "r.json")
		p := l.profile(t, "--request-rate-range", "100", "--duration", "8s", "--json", file)
		l.loaded(t, p, 100)
		faults := []struct {
			what string
			do   func()
			at   time.Time
		}{
			{what: "was killed", do: func() { _ = l.workers[1].Process.Kill() }},
			{what: "hangs", do: func() { _ = l.workers[2].Process.Signal(syscall.SIGSTOP) }},
			{what: "was cut off", do: cut.off},
		}
		for i := range faults {
			faults[i].at = time.Now()
			faults[i].do()
		}
		p.wait(t)
		members := readResult(t, file).Fleet.Members
		if members[0].Lost != "" {
			return fmt.Errorf("a worker without a fault was lost: %s", members[0].Lost)
		}
		for i, f := range faults {
			m := members[i+1]
			if m.Lost == "" {
				t.Fatalf("worker %s %s, and the result does not say so", m.Name, f.what)
			}
			after := time.Unix(0, m.LostUnixNs).Sub(f.at)
			if t.Logf("worker %s %s: noticed after %s", m.Name, f.what, after); after > noticedWithin {
				return fmt.Errorf("that worker %s %s was noticed after %s, not within %s", m.Name, f.what, after, noticedWithin)
			}
		}
		return nil
	})
}
