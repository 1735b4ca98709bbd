package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

func TestHealthNamesTheHold(t *testing.T) {
	const want = "  Held by the server: 21 requests waited about 500 ms in its queue, at 7 separate times, and the others hardly waited. Triton's dynamic batcher does this to " +
		"requests that come right after a response. It cost 10.4s, 17 % of the time in flight; redline profile --think-time makes it rarer\n"
	l := result.Level{Mode: plan.Concurrency, Stable: true, Hold: &result.Hold{Requests: 21, Times: 7, WaitedNs: int64(10_442 * time.Millisecond), Share: 0.1734}}
	for _, hold := range []bool{true, false} {
		if !hold {
			l.Hold = nil
		}
		var b strings.Builder
		report.Health(&b, &l, report.Style{})
		if strings.Contains(b.String(), want) != hold {
			t.Errorf("hold %v:\n%s", hold, b.String())
		}
	}
}
