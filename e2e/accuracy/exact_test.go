package accuracy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every request counts once: the server's log, the report, the records and the export agree exactly. Each prepared
// request has answers of its own, so that a response to another request is found.
func TestEveryRequestCounts(t *testing.T) {
	const requests = 20_000
	for _, protocol := range []string{"http", "grpc"} {
		t.Run(protocol, func(t *testing.T) {
			dir := t.TempDir()
			file := func(name string) string { return filepath.Join(dir, name) }
			writeChecked(t, file("checked.json"), 64)
			if err := profile(t, dir, protocol, []string{"--request-log", file("log")}, "--request-count", strconv.Itoa(requests), "--concurrency-range", "8",
				"--input-data", file("checked.json"), "--json", file("result.json"), "--records", file("records.csv"), "--profile-export-file", file("export.json")); err != nil {
				t.Fatal(err)
			}
			var res resultFile
			readJSON(t, file("result.json"), &res)
			var export exportFile
			readJSON(t, file("export.json"), &export)
			records := readRecords(t, file("records.csv"))
			classes := map[string]int{}
			for _, r := range records {
				classes[r.class]++
			}
			if d := cmp.Diff(map[string]int{"ok": requests}, classes); d != "" {
				t.Errorf("how the requests ended: %s", d)
			}
			for what, n := range map[string]int{
				"the server's log": len(readLog(t, file("log"))), "the report": int(res.Levels[0].Client.Requests),
				"the records": len(records), "the export": len(export.Experiments[0].Requests),
			} {
				if n != requests {
					t.Errorf("%d requests in %s, want %d", n, what, requests)
				}
			}
			if n := res.Levels[0].Client.Failed; n > 0 {
				t.Errorf("%d failed requests", n)
			}
		})
	}
}

// writeChecked writes input data of so many steps for the model simple, with the responses that are expected. No two steps
// have the same answer.
func writeChecked(t *testing.T, path string, steps int) {
	t.Helper()
	const size = 16
	var doc struct {
		Data   []map[string][]int `json:"data"`
		Expect []map[string][]int `json:"validation_data"`
	}
	for step := range steps {
		x, y, sum, diff := make([]int, size), make([]int, size), make([]int, size), make([]int, size)
		for i := range size {
			x[i], y[i] = 1000*step+i, i
			sum[i], diff[i] = x[i]+y[i], x[i]-y[i]
		}
		doc.Data = append(doc.Data, map[string][]int{"INPUT0": x, "INPUT1": y})
		doc.Expect = append(doc.Expect, map[string][]int{"OUTPUT0": sum, "OUTPUT1": diff})
	}
	text, err := json.Marshal(doc)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
