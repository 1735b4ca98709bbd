//go:build linux

package fleet_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/report/page"
	"github.com/redline-bench/redline/internal/testkit"
)

// liveLevel is the level in progress as the live page gets it; it waits until the level is as wanted.
func liveLevel(t *testing.T, url, what string, wanted func(*page.LevelView) bool) {
	t.Helper()
	var text string
	for end := time.Now().Add(testkit.Limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, text = testkit.Ask(t, http.MethodGet, url, nil)
		var d page.Data
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if n := len(d.Runs[0].Levels); n > 0 && wanted(&d.Runs[0].Levels[n-1]) {
			return
		}
	}
	t.Fatalf("the live page does not show %s: %.2000s", what, text)
}

// The live page of a run gets what each worker does, and which one is lost.
func TestTheLivePageHasEachWorker(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	p := l.profile(t, "--request-rate-range", "100", "--duration", "10m", "--dash")
	line := p.await(t, "live page: ")
	_, url, _ := strings.Cut(strings.TrimSpace(line), "live page: ")
	url = strings.TrimSuffix(url, "/live") + "/api/live"
	liveLevel(t, url, "the requests of both workers", func(lv *page.LevelView) bool {
		if len(lv.Workers) != 2 {
			return false
		}
		a, b := lv.Workers[0], lv.Workers[1]
		if a.Name != "w1" || b.Name != "w2" || a.Requests+b.Requests != lv.Requests {
			t.Fatalf("the level has %d requests, its workers %+v", lv.Requests, lv.Workers)
		}
		return a.Requests > 0 && b.Requests > 0
	})
	l.workers[1].kill()
	liveLevel(t, url, "the lost worker", func(lv *page.LevelView) bool {
		return len(lv.Workers) == 2 && lv.Workers[1].Lost != "" && lv.Workers[0].Lost == ""
	})
}
