package report_test

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

func TestHealthNamesRequestsWithoutAResponse(t *testing.T) {
	const text = "No response: 100 of 200 requests ended without one"
	for n, want := range map[uint64]bool{0: false, 100: true} {
		var b strings.Builder
		report.Health(&b, &result.Level{Mode: plan.Concurrency, Stable: true, Client: result.Client{Requests: 200, Unanswered: n}}, report.Style{})
		if got := strings.Contains(b.String(), text); got != want {
			t.Errorf("%d without a response:\n%s", n, b.String())
		}
	}
}
