package measure_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// outage is a level of ten seconds at 100 requests per second whose server was away from second 4 to second 6.
func outage() result.Level {
	lv := result.Level{
		Concurrency: 8, Stable: true, Client: result.Client{Requests: 800, Failed: 200},
		Failures: []result.Failure{{Class: "timeout", Text: "no answer", Count: 10}, {Class: "connect", Text: "connection refused", Count: 190}},
		Timeline: &result.Timeline{StepNs: int64(time.Second), Slices: make([]result.Slice, 10)},
	}
	for i := range lv.Timeline.Slices {
		lv.Timeline.Slices[i].Ended = 100
	}
	for _, i := range []int{4, 5} {
		lv.Timeline.Slices[i] = result.Slice{Failed: 100}
	}
	return lv
}

// A server that was away is the cause, not the client that could not keep its rate meanwhile.
func TestAnOutageIsTheServersFault(t *testing.T) {
	late := []result.Reason{{What: "sent 90 of the 100 requests per second asked for", Try: "lower the rate"}}
	levels := []result.Level{outage()}
	v := measure.Conclude(measure.Run{Levels: levels, Limits: [][]result.Reason{late}, MaxErrorRate: 0.01})
	if v.State != result.ServerFailed || len(v.Reasons) != 1 || !levels[0].ServerFailed {
		t.Fatalf("got %+v, level marked %v", v, levels[0].ServerFailed)
	}
	for _, want := range []string{"concurrency 8: ", "20 % of the requests failed (200 of 1000; at most 1 % may)", "mostly connect: connection refused", "the first 4.0 s after", "the last 2.0 s later"} {
		if !strings.Contains(v.Reasons[0].What, want) {
			t.Errorf("%q lacks %q", v.Reasons[0].What, want)
		}
	}
	if v.Reasons[0].Try == "" {
		t.Error("no way out")
	}
}

func TestStateOfARun(t *testing.T) {
	good := result.Level{Concurrency: 1, Stable: true, Client: result.Client{Requests: 1000}}
	few := good
	few.Client.Failed = 10 // 0.99 %
	many := good
	many.Client.Failed = 11
	ports := good
	ports.Client.Failed = 500
	ports.Failures = []result.Failure{{Class: "connect", Text: "dial tcp 127.0.0.1:1: connect: cannot assign requested address", Count: 500}}
	f := func(name string, r measure.Run, want result.State) {
		t.Helper()
		if r.Limits == nil {
			r.Limits = make([][]result.Reason, len(r.Levels))
		}
		r.MaxErrorRate = 0.01
		if v := measure.Conclude(r); v.State != want {
			t.Errorf("%s: %+v, want %s", name, v, want)
		}
	}
	one := func(lv result.Level) []result.Level { return []result.Level{lv} }
	f("no failures", measure.Run{Levels: one(good)}, result.Valid)
	f("as many failures as allowed", measure.Run{Levels: one(few)}, result.Valid)
	f("one more", measure.Run{Levels: one(many)}, result.ServerFailed)
	f("failures of a later level", measure.Run{Levels: []result.Level{good, many}}, result.ServerFailed)
	f("interrupted", measure.Run{Levels: one(good), Interrupted: true}, result.Interrupted)
	f("interrupted while the server failed", measure.Run{Levels: one(many), Interrupted: true}, result.Interrupted)
	f("too short", measure.Run{Levels: one(result.Level{}), Error: "no request ended", TooShort: true}, result.TooShort)
	f("nothing ended because all failed", measure.Run{Levels: one(result.Level{Client: result.Client{Failed: 5}}), Error: "no request ended", TooShort: true}, result.ServerFailed)
	noPorts := one(ports)
	if f("this machine has no ports left", measure.Run{Levels: noPorts}, result.ClientLimited); !noPorts[0].ClientLimited {
		t.Error("the level is not marked as client-limited")
	}
	f("failed requests end a run, few of very many", measure.Run{Levels: one(few), Error: "server gone", ServerGone: true}, result.ServerFailed)
	f("this machine has no ports left, which ends the run", measure.Run{Levels: one(ports), Error: "no connection", ServerGone: true}, result.Failed)
	f("an error ends a run in which the server failed", measure.Run{Levels: one(many), Error: "server gone"}, result.ServerFailed)
}

// A late client says what its machine tells of the cause, with the remedy for that cause.
func TestLateForACause(t *testing.T) {
	f := func(name string, h result.Health, standstill time.Duration, what, try string) {
		t.Helper()
		h.LagP99Ns, h.MachineCores, h.CPUCores = int64(4600*time.Microsecond), 2, max(h.CPUCores, 0.1)
		lv := result.Level{Client: result.Client{Requests: 1000}, Health: h}
		out := measure.Judge(&lv, measure.Load{Wall: 10 * time.Second, MaxProcs: 2, Standstill: standstill, Options: measure.Options{Rate: "--request-rate"}})
		if len(out) != 1 || out[0].What != "1 % of the requests were sent more than 4.60 ms late"+what || !strings.Contains(out[0].Try, try) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	f("steal", result.Health{MachineShare: 0.1, StealShare: 0.03}, 0, ": a hypervisor gave 3 % of this machine's CPU time to other machines", "instance type")
	f("other processes", result.Health{MachineShare: 0.95}, 0, ": other processes used 1.8 of the 2 cores, the client 0.1", "stop the other processes")
	f("the server", result.Health{MachineShare: 0.95, ServerHere: true}, 0, ": other processes used 1.8 of the 2 cores, the client 0.1", "on another machine than the server")
	f("a little steal on a busy machine", result.Health{MachineShare: 0.95, StealShare: 0.01}, 0, ": other processes used 1.8 of the 2 cores, the client 0.1", "stop the other processes")
	f("a standstill", result.Health{MachineShare: 0.1}, 200*time.Millisecond, ": the whole client stood still for 200 ms", "do not suspend")
	f("nothing to see", result.Health{MachineShare: 0.1}, 0, ": cores were free, and nothing says what held the client up", "redline doctor")
	f("a machine that tells nothing", result.Health{MachineShare: 0.9, CPUCores: 1.7}, 0, "", "give the client more CPU")
}

// The p99 of five requests decides nothing; half of them can.
func TestFewLateRequests(t *testing.T) {
	f := func(requests uint64, p50, p99 time.Duration, late bool) {
		t.Helper()
		lv := result.Level{Client: result.Client{Requests: requests}, Health: result.Health{LagP50Ns: int64(p50), LagP99Ns: int64(p99)}}
		if out := measure.Judge(&lv, measure.Load{}); len(out) > 0 != late {
			t.Errorf("%d requests, p50 %s, p99 %s: %+v", requests, p50, p99, out)
		}
	}
	f(5, 0, 20*time.Millisecond, false)
	f(5, 20*time.Millisecond, 20*time.Millisecond, true)
	f(100, 0, 20*time.Millisecond, true)
}
