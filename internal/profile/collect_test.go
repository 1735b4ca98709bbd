package profile_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// onlooker wants to know nothing.
type onlooker struct{ profile.Observer }

func (onlooker) LevelBegins(*result.Level, bool) {}
func (onlooker) LevelEnds(*result.Level)         {}

// Records of requests that ended before this process began have times below 0. The level lasts from the first send to the last end.
func TestCollectedRecordsKeepTheirTimes(t *testing.T) {
	p := plan.Default()
	r := &profile.Runner{Plan: &p, Model: &service.Model{Name: "m"}, Observer: onlooker{}}
	ago := -int64(time.Hour)
	res, err := r.Collect(func(each func(*record.Record)) error {
		for i := range int64(20) {
			sent := ago + i*int64(100*time.Millisecond)
			each(&record.Record{Due: sent, Sent: sent, First: sent + int64(time.Millisecond), End: sent + int64(100*time.Millisecond)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lv := res.Levels[0]
	if got := time.Duration(lv.Client.DurationNs); got != 2*time.Second || lv.Client.Requests != 20 || lv.Windows[0].StartUnixNs != clock.Wall(ago) {
		t.Errorf("%d requests in %s from %d", lv.Client.Requests, got, lv.Windows[0].StartUnixNs)
	}
}
