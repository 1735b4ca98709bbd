package load

import (
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
)

// The time after a request that the client canceled is not idle time of the client: it needs another connection.
func TestTimeAfterACancellationIsNotIdle(t *testing.T) {
	r := &levelRun{}
	r.idle(&ask{}, &llm.Sample{Sent: 10, Last: 100, Class: record.Canceled})
	if idle, _ := r.idle(&ask{}, &llm.Sample{Sent: 900, Last: 1000}); idle != 0 {
		t.Errorf("%s idle after a cancellation", idle)
	}
	if idle, _ := r.idle(&ask{}, &llm.Sample{Sent: 1100, Last: 1200}); idle != 100 {
		t.Errorf("%s idle, want 100 ns", idle)
	}
}
