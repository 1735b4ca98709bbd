package calibration

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/result"
)

// paced is a level of a closed loop whose requests took so long.
func paced(concurrency int, latency time.Duration) *result.Level {
	lv := &result.Level{Concurrency: concurrency}
	lv.Client.Latency.Avg, lv.Client.DurationNs = int64(latency), int64(time.Second)
	lv.Client.Requests = uint64(float64(concurrency) / latency.Seconds())
	return lv
}

func TestTheServerHoldsAnswersAsLongAsTheRunsServerTook(t *testing.T) {
	f := func(lv *result.Level, want time.Duration) {
		t.Helper()
		if got := holdFor(lv); got != want {
			t.Errorf("concurrency %d, rate %v: %v, want %v", lv.Concurrency, lv.Rate, got, want)
		}
	}
	f(paced(1, 3*time.Millisecond), 3*time.Millisecond)
	f(paced(64, 150*time.Millisecond), 150*time.Millisecond)
	// Some 50 requests a second must be answered, and the calibration must end soon.
	f(paced(1, 90*time.Millisecond), 20*time.Millisecond)
	f(paced(512, 8*time.Second), longestHold)
	open := &result.Level{Rate: 10}
	open.Client.Latency.Avg, open.Client.Sent.Avg = int64(time.Second), int64(80*time.Millisecond)
	f(open, 80*time.Millisecond)
}

func TestTheHoldIsShortenedWhereTheCalibrationIsTooSlow(t *testing.T) {
	f := func(lv *result.Level, reached float64, want time.Duration) {
		t.Helper()
		if got := shorterHold(time.Millisecond, reached, lv); got != want {
			t.Errorf("%v requests/s reached: %v, want %v", reached, got, want)
		}
	}
	lv := paced(4, time.Millisecond) // 4,000 a second
	f(lv, 4000, time.Millisecond)
	f(lv, 2700, time.Millisecond)
	f(lv, 2500, 400*time.Microsecond) // 1.6 ms a request, 0.6 too many
	f(lv, 1000, 0)
	f(lv, 0, time.Millisecond)
	f(&result.Level{Rate: 4000}, 2000, time.Millisecond)
}
