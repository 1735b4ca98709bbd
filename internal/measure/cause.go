package measure

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

const (
	// leastSteal is the share of the machine's CPU time from which steal can make one request in a hundred late.
	leastSteal = 0.005
	// leastStandstill is the share of the time from which a standstill can do so.
	leastStandstill = 0.005
	// leastFree is the number of cores that must be free, on average, so that a thread finds a core when it wakes up.
	leastFree = 1
)

// cause is why a client could not send in time, as far as its machine tells, and what to do about it. what is empty if the machine
// tells nothing: then the load itself was too much for the client.
type cause struct{ what, try string }

// causeOf reads the health of a level for what kept the client from sending. less says how to lower the load.
func causeOf(h *result.Health, l *Load, less string) cause {
	stolen := h.StealShare * h.MachineCores
	others := h.MachineShare*h.MachineCores - stolen - h.CPUCores
	free := (1 - h.MachineShare) * h.MachineCores
	busy := h.MachineCores > 0 && free < leastFree && others > h.CPUCores
	switch {
	case l.Standstill > 0 && l.Standstill >= time.Duration(leastStandstill*float64(l.Wall)):
		return cause{fmt.Sprintf("the whole client stood still for %s", unit.Span(float64(l.Standstill))), "do not suspend the client, and give it a machine of its own"}
	case h.StealShare >= leastSteal && (!busy || stolen > others):
		return cause{
			fmt.Sprintf("a hypervisor gave %s %% of this machine's CPU time to other machines", unit.Digits(100*h.StealShare, 2)),
			"run again on a machine with cores of its own: a physical one, or an instance type without shared cores",
		}
	case busy:
		c := cause{
			fmt.Sprintf("other processes used %s of the %s cores, the client %s", unit.Digits(others, 2), unit.Digits(h.MachineCores, 2), unit.Digits(h.CPUCores, 2)),
			"stop the other processes, or keep them off the client's cores with taskset",
		}
		if h.ServerHere {
			c.try = "run the client on another machine than the server, or give each its own cores with taskset"
		}
		return c
	case h.MachineCores > 0 && free >= leastFree && l.MaxProcs > 0 && h.CPUCores < float64(l.MaxProcs)-leastFree:
		return cause{"cores were free, and nothing says what held the client up", "run again; 'redline doctor' looks for causes, such as a CPU quota; or " + less}
	}
	return cause{"", less + ", or give the client more CPU"}
}

// after adds the cause to the description of its effect.
func (c cause) after(effect string) string {
	if c.what == "" {
		return effect
	}
	return effect + ": " + c.what
}
