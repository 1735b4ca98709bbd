package trace

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.json")
	r := &Recorder{}
	root := r.Start(file, 1)
	root.Model("chain", 1, "seven")
	step := root.Child()
	step.Model("part", 2, "")
	step.Mark("REQUEST_START", time.Unix(0, 5))
	step.End()
	root.Mark("REQUEST_START", time.Unix(0, 4))
	root.End()
	rest := r.Start(file, 0)
	rest.Mark("REQUEST_START", time.Unix(0, 9))
	rest.End()
	if err := r.Close(file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		file + ".0": `[{"id":1,"model_name":"chain","model_version":1,"request_id":"seven"},` +
			`{"id":2,"model_name":"part","model_version":2,"parent_id":1},{"id":2,"timestamps":[{"name":"REQUEST_START","ns":5}]},{"id":1,"timestamps":[{"name":"REQUEST_START","ns":4}]}]`,
		file: `[{"id":3,"timestamps":[{"name":"REQUEST_START","ns":9}]}]`,
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(text)); diff != "" || !json.Valid(text) {
			t.Errorf("%s (-want +got):\n%s", filepath.Base(name), diff)
		}
	}
}

func TestNothingToTrace(t *testing.T) {
	trace := (&Recorder{}).Start("", 0) // no file
	trace.Model("m", 1, "")
	trace.Mark("REQUEST_START", time.Now())
	trace.Child().End()
	trace.End()
	if trace.Step() {
		t.Error("a trace of nothing wants something")
	}
}
