package calibrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
)

func TestTheLogIsReadAsItGrows(t *testing.T) {
	l := &calibrate.AnswerLog{Path: filepath.Join(t.TempDir(), "log")}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(l.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	next := func(n int, want ...calibrate.Answer) {
		t.Helper()
		got, err := l.Next(t.Context(), n)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	write(`{"id":"a","events_ns":[5,6,7,8],"tokens":[0,1,2,0]}` + "\n" + `{"id":"other","replied_ns":4}` + "\n" + `{"id":"b","eve`)
	next(1, calibrate.Answer{ID: "a", At: []int64{6, 7}})
	write(`nts_ns":[9,10]}` + "\n")
	next(1, calibrate.Answer{ID: "b", At: []int64{9, 10}})
	write("nonsense\n")
	if _, err := l.Next(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "the server's log") {
		t.Error(err)
	}
}

func TestTimesAreHeldAgainstTheLog(t *testing.T) {
	f := func(seen, written []calibrate.Answer, want calibrate.TokenErrors) {
		t.Helper()
		got, err := calibrate.CompareTokens(seen, written)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	named := []calibrate.Answer{{ID: "x", At: []int64{110, 215, 330}}, {ID: "y", At: []int64{120}}}
	f(named, []calibrate.Answer{{ID: "cut", At: []int64{1}}, {ID: "y", At: []int64{90, 95}}, {ID: "x", At: []int64{100, 210, 300}}},
		calibrate.TokenErrors{Errors: []int64{10, 5, 30, 30}, Means: calibrate.Tokens{TTFTNs: 20, ITLNs: 10}})
	// Without names the first tokens tell who is who. The error has a sign.
	f([]calibrate.Answer{{At: []int64{205, 303}}, {At: []int64{103, 199}}}, []calibrate.Answer{{ID: "1", At: []int64{100, 200, 300}}, {ID: "2", At: []int64{200, 300, 400}}},
		calibrate.TokenErrors{Errors: []int64{3, -1, 5, 3}, Means: calibrate.Tokens{TTFTNs: 4, ITLNs: -3}})
	for _, written := range [][]calibrate.Answer{{{At: []int64{1}}}, {{At: []int64{1}}, {At: []int64{2}}}} {
		if _, err := calibrate.CompareTokens([]calibrate.Answer{{At: []int64{1, 2}}, {At: []int64{3, 4}}}, written); err == nil {
			t.Errorf("%v: no error", written)
		}
	}
}
