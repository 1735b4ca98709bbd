package history_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

func run(second int64, label string) *result.Result {
	return &result.Result{
		Schema: result.Schema, Tool: "redline", Version: "1", Command: "profile", Label: label,
		StartUnixNs: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano() + second*1e9,
		Plan:        &plan.Plan{Target: plan.Target{Model: "sim/ple ../x"}},
		Verdict:     result.Verdict{State: result.Valid},
		Levels:      []result.Level{{Concurrency: 1, Client: result.Client{InferPerSec: 100}}, {Concurrency: 2, Client: result.Client{InferPerSec: 150}}},
	}
}

func encode(r *result.Result) ([]byte, error) { return json.Marshal(r) }

func add(t *testing.T, s *history.Store, r *result.Result) history.Entry {
	t.Helper()
	e, err := s.Add(r, encode)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestRunsAreKeptAndFound(t *testing.T) {
	s := &history.Store{Dir: filepath.Join(t.TempDir(), "runs")}
	first := add(t, s, run(0, ""))
	twin := add(t, s, run(0, "")) // in the same second
	last := add(t, s, run(60, "night"))
	if first.ID != "20260102-030405-sim-ple-x" || twin.ID == first.ID || first.Best != 150 {
		t.Errorf("%+v %+v", first, twin)
	}
	f := func(ref, id string) {
		t.Helper()
		path, err := s.Find(ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
			return
		}
		res, err := history.Load(path)
		if err != nil || filepath.Base(filepath.Dir(path)) != id {
			t.Errorf("%s is %s, %v", ref, path, err)
		} else if len(res.Levels) != 2 {
			t.Errorf("%s came back as %+v", ref, res)
		}
	}
	f("last", last.ID)
	f("last~2", first.ID)
	f("night", last.ID)
	f("20260102-030505", last.ID)
	f(first.ID, first.ID)
	f(filepath.Join(s.Dir, last.ID), last.ID)
	for ref, want := range map[string]string{"last~3": "has 3 runs", "last~x": "not a run", "2026": "more characters", "nope": "redline history", "": "neither"} {
		if _, err := s.Find(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

// The classes of a scenario run at the same time: their throughput is that of all of them together.
func TestTheThroughputOfAScenario(t *testing.T) {
	res := run(0, "")
	res.Whole = &result.Level{Class: "all classes", Client: result.Client{InferPerSec: 250}}
	if e := add(t, &history.Store{Dir: t.TempDir()}, res); e.Best != 250 {
		t.Errorf("the throughput is %g", e.Best)
	}
}

// The folders are the truth: a missing or damaged index loses nothing.
func TestTheIndexCanBeLost(t *testing.T) {
	s := &history.Store{Dir: t.TempDir()}
	add(t, s, run(0, "a"))
	add(t, s, run(1, "b"))
	for _, damage := range []string{"", "{garbage\n\x00"} {
		if err := os.WriteFile(filepath.Join(s.Dir, "index.jsonl"), []byte(damage), 0o644); err != nil {
			t.Fatal(err)
		}
		if list, err := s.List(); err != nil || len(list) != 2 || list[0].Label != "a" {
			t.Errorf("%v %v", list, err)
		}
	}
}

func TestTheOldestGoFirst(t *testing.T) {
	s := &history.Store{Dir: t.TempDir()}
	size := add(t, s, run(0, "")).Bytes
	s.Limit = 2*size + size/2
	for i := range int64(4) {
		add(t, s, run(i+1, ""))
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[1].Start.Second() != 9 {
		t.Errorf("%v %v", list, err)
	}
	if err := s.Remove(list[0].ID); err != nil {
		t.Error(err)
	}
	if list, _ = s.List(); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

func TestForeignAndBrokenFilesAreSaidSo(t *testing.T) {
	f := func(content, want string) {
		t.Helper()
		_, err := history.Decode("x.json", []byte(content))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
	f(`{"schema":1,"tool":"redline","levels":3}`, "damaged")
	f(`{"schema":99,"tool":"redline"}`, "newer")
	for _, foreign := range []string{``, `[]`, `{"experiments":[]}`, "a,b\n1,2\n"} {
		if _, err := history.Decode("x", []byte(foreign)); !errors.Is(err, history.ErrForeign) {
			t.Errorf("%q: %v", foreign, err)
		}
	}
}
