package calibrate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
)

// logOf makes a log, and returns the function that writes more to it.
func logOf(t *testing.T, text string) (*calibrate.Log, func(text string)) {
	t.Helper()
	l := &calibrate.Log{Path: filepath.Join(t.TempDir(), "log")}
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
	write(text)
	return l, write
}

func TestTheLogHasTheTimesOfRequests(t *testing.T) {
	f := func(text string, want []calibrate.Exchange, wantNamed bool) {
		t.Helper()
		l, _ := logOf(t, text)
		lines, err := l.Read()
		got, named := calibrate.Exchanges(lines)
		if d := cmp.Diff(want, got); d != "" || named != wantNamed || err != nil {
			t.Error(d, named, err)
		}
	}
	f(`{"model":"m","id":"7","received_ns":100,"replied_ns":120}
{"model":"m","id":"8","received_ns":200,"replied_ns":290,"events_ns":[210,240]}
`, []calibrate.Exchange{{ID: 7, From: 100, To: 120}, {ID: 8, From: 200, To: 240}}, true)
	f(`{"model":"m","id":"","received_ns":1,"replied_ns":2}`+"\n", []calibrate.Exchange{{From: 1, To: 2}}, false)
}

func TestTheLogIsReadAsItGrows(t *testing.T) {
	l, write := logOf(t, `{"id":"a","received_ns":3,"events_ns":[5,6,7,8],"tokens":[0,1,2,0]}`+"\n"+`{"id":"other","replied_ns":4}`+"\n"+`{"id":"b","eve`)
	next := func(want ...calibrate.Stream) {
		t.Helper()
		got, err := l.Streams(t.Context(), 1, 0)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	next(calibrate.Stream{ID: "a", From: 3, At: []int64{6, 7}})
	next()
	write(`nts_ns":[9,10]}` + "\n")
	next(calibrate.Stream{ID: "b", At: []int64{9, 10}})
	write("nonsense\n")
	if _, err := l.Read(); err == nil || !strings.Contains(err.Error(), "the server's log") {
		t.Error(err)
	}
}
