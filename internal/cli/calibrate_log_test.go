package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
)

func TestTheLogIsReadAsItGrows(t *testing.T) {
	l := &answerLog{path: filepath.Join(t.TempDir(), "log")}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	next := func(n int, want ...answered) {
		t.Helper()
		got, err := l.next(t.Context(), n)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(answered{})); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	write(`{"id":"a","events_ns":[5,6,7,8],"tokens":[0,1,2,0]}` + "\n" + `{"id":"other","replied_ns":4}` + "\n" + `{"id":"b","eve`)
	next(1, answered{id: "a", at: []int64{6, 7}})
	write(`nts_ns":[9,10]}` + "\n")
	next(1, answered{id: "b", at: []int64{9, 10}})
	write("nonsense\n")
	if _, err := l.next(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "the server's log") {
		t.Error(err)
	}
}

func TestTimesAreHeldAgainstTheLog(t *testing.T) {
	f := func(seen, written []answered, want tokenTimes) {
		t.Helper()
		got, err := compareTimes(seen, written)
		if d := cmp.Diff(want, got, cmp.AllowUnexported(tokenTimes{})); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	named := []answered{{id: "x", at: []int64{110, 215, 330}}, {id: "y", at: []int64{120}}}
	f(named, []answered{{id: "cut", at: []int64{1}}, {id: "y", at: []int64{90, 95}}, {id: "x", at: []int64{100, 210, 300}}},
		tokenTimes{errors: []int64{10, 5, 30, 30}, means: calibrate.Tokens{TTFTNs: 20, ITLNs: 10}})
	// Without names the first tokens tell who is who. The error has a sign.
	f([]answered{{at: []int64{205, 303}}, {at: []int64{103, 199}}}, []answered{{id: "1", at: []int64{100, 200, 300}}, {id: "2", at: []int64{200, 300, 400}}},
		tokenTimes{errors: []int64{3, -1, 5, 3}, means: calibrate.Tokens{TTFTNs: 4, ITLNs: -3}})
	for _, written := range [][]answered{{{at: []int64{1}}}, {{at: []int64{1}}, {at: []int64{2}}}} {
		if _, err := compareTimes([]answered{{at: []int64{1, 2}}, {at: []int64{3, 4}}}, written); err == nil {
			t.Errorf("%v: no error", written)
		}
	}
}

func TestACalibrationOfTokensIsBrief(t *testing.T) {
	asked := load.Options{Requests: 100_000, Sessions: 7, Duration: time.Hour, CancelShare: 0.5, Warmup: load.Warmup{Requests: 9}}
	f := func(lv load.Level, want int) {
		t.Helper()
		got := brief(asked, lv)
		if got.Requests != want || got.Sessions != 0 || got.Duration != llmFloorTime || got.CancelShare != 0 || got.Warmup.Any() {
			t.Errorf("%s: %+v, want %d requests", lv.String(), got, want)
		}
	}
	f(load.Level{Mode: plan.Concurrency, Concurrency: 1}, llmFloorFew)
	f(load.Level{Mode: plan.Concurrency, Concurrency: 512}, 1536)
	f(load.Level{Mode: plan.RequestRate, Rate: 50, Concurrency: 999}, 150)
	f(load.Level{Mode: plan.RequestRate, Rate: 1e6}, llmFloorMany)
}
