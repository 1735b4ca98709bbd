package load

import (
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
)

// The time after a request that the client canceled is not idle time of the client: it needs another connection.
func TestTimeAfterACancellationIsNotIdle(t *testing.T) {
	r := &run{}
	r.idle(&ask{}, &llm.Sample{Sent: 10, Last: 100, Class: record.Canceled})
	r.idle(&ask{}, &llm.Sample{Sent: 900, Last: 1000})
	if r.idleNs != 0 {
		t.Errorf("%d ns idle after a cancellation", r.idleNs)
	}
	r.idle(&ask{}, &llm.Sample{Sent: 1100, Last: 1200})
	if r.idleNs != 100 {
		t.Errorf("%d ns idle, want 100", r.idleNs)
	}
}
