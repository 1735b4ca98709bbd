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
