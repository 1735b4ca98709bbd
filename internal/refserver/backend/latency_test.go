package backend

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// The time of an execution follows the parameters of the model.
func TestLengthOfAnExecution(t *testing.T) {
	f := func(instances, items int, want time.Duration, parameters ...string) {
		t.Helper()
		par := params{}
		for i := 0; i < len(parameters); i += 2 {
			par[parameters[i]] = &kserve.ModelParameter{StringValue: parameters[i+1]}
		}
		l, err := newLatency(par, Env{Instances: instances})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.length(items); got != want {
			t.Errorf("%d instances, %d elements, %v: %v, want %v", instances, items, parameters, got, want)
		}
	}
	const ms = time.Millisecond
	f(1, 1, 20*ms, "execute_delay_ms", "20")
	f(4, 3, 26*ms, "execute_delay_ms", "20", "per_item_ms", "2")
	f(1, 8, 20*ms, "execute_delay_ms", "20", "per_item_ms", "10", "free_items", "8")
	f(1, 10, 40*ms, "execute_delay_ms", "20", "per_item_ms", "10", "free_items", "8")
	f(2, 1, 20*ms, "execute_delay_ms", "20", "crowd_above", "2", "crowd_share", "1")
	f(4, 1, 60*ms, "execute_delay_ms", "20", "crowd_above", "2", "crowd_share", "1")
}

// A gapless execution begins on time, however late the machine runs it.
func TestBeginOfAGaplessExecution(t *testing.T) {
	const ms = time.Millisecond
	began := time.Now()
	f := func(free, want time.Duration, received ...time.Duration) {
		t.Helper()
		l := latency{free: began.Add(free)}
		var jobs []*Job
		for _, at := range received {
			jobs = append(jobs, &Job{Request: &infer.Request{Received: began.Add(at)}})
		}
		if got := l.begin(jobs).Sub(began); got != want {
			t.Errorf("free at %v, received at %v: begins at %v, want %v", free, received, got, want)
		}
	}
	f(5*ms, 5*ms, 3*ms)       // the request waited
	f(5*ms, 7*ms, 7*ms)       // the server was idle
	f(5*ms, 6*ms, 2*ms, 6*ms) // a batch with a request that came while the server was idle
}
