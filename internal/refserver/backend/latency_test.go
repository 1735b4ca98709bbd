package backend

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
)

// The time of an execution follows the parameters of the model.
func TestLengthOfAnExecution(t *testing.T) {
	f := func(instances, items int, want time.Duration, parameters ...string) {
		t.Helper()
		par := params{map[string]*kserve.ModelParameter{}}
		for i := 0; i < len(parameters); i += 2 {
			par.m[parameters[i]] = &kserve.ModelParameter{StringValue: parameters[i+1]}
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
