// Package stated compares the measurement error that a report states with the errors that a server's log shows.
package stated

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// What a statement may be off by: the actual median lies within a factor of the stated one or within an amount of it, and
// at most one per cent of the actual errors lies above the stated p99 times the factor plus the amount. There are more of them by
// chance in one of ten thousand measurements.
const (
	factor = 2
	amount = 100 * time.Microsecond
	chance = 1e-4
)

// Holds returns an error where a statement misses its tolerance. actual are the errors of single requests or tokens, in
// nanoseconds; together is how many of them one delay of a thread may touch.
func Holds(t *testing.T, said *result.MeasurementError, actual []int64, together int) error {
	t.Helper()
	if said == nil { // the calibration did not end in time
		return errors.New("no measurement error is stated")
	}
	slices.Sort(actual)
	p50, p99 := actual[len(actual)/2], actual[len(actual)*99/100]
	above := len(actual) - sort.Search(len(actual), func(i int) bool { return actual[i] > said.P99Ns*factor+int64(amount) })
	t.Logf("stated p50 %v, p99 %v (at least: %v) of %d requests at %.0f/s %s; actual p50 %v, p99 %v of %d, %d above the tolerance of p99", time.Duration(said.P50Ns),
		time.Duration(said.P99Ns), said.AtLeast, said.Requests, said.PerSecond, said.Of, time.Duration(p50), time.Duration(p99), len(actual), above)
	low, high := said.P50Ns/factor-int64(amount), said.P50Ns*factor+int64(amount)
	switch {
	case !said.Exact:
		return fmt.Errorf("the error is not stated of this traffic and pace but of %s", said.Of)
	case p50 < low || p50 > high:
		return fmt.Errorf("the stated p50 is %v, the server's log says %v", time.Duration(said.P50Ns), time.Duration(p50))
	case !said.AtLeast && stats.BinomialTail(float64(above)/float64(together), float64(len(actual))/float64(together), 0.01) < chance:
		return fmt.Errorf("the stated p99 is %v, the server's log says %v", time.Duration(said.P99Ns), time.Duration(p99))
	}
	return nil
}
