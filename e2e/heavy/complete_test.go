package heavy_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What GenAI-Perf says of each metric that has a value for every request: the columns of its table, and the deviation.
var statistics = []string{"avg", "min", "max", "p99", "p95", "p90", "p75", "p50", "p25", "p10", "p5", "p1"}

// single are the metrics that have one value for all requests.
var single = []string{"request_throughput", "request_count", "output_token_throughput", "request_goodput"}

// hides reports whether the tables omit a metric: for a response that is not streamed, the first token is the whole response.
func (c *gapCase) hides(metric string) bool {
	return metric == "time_to_first_token" && len(c.want) == len(whole)
}

// complete compares the files of one run in a folder with what the case wants: the inputs, the export of perf_analyzer, and
// the report in two forms with every statistic of every metric.
func complete(t *testing.T, dir string, c gapCase) {
	t.Helper()
	if inputs := read(t, dir, "inputs.json"); !json.Valid(inputs) || len(inputs) < len(`{"data":[{}]}`) {
		t.Errorf("inputs: %s", inputs)
	}
	var report map[string]json.RawMessage
	if err := json.Unmarshal(read(t, dir, "profile_export_genai_perf.json"), &report); err != nil {
		t.Fatal(err)
	}
	table := readTable(t, filepath.Join(dir, "profile_export_genai_perf.csv"))
	for _, name := range c.want {
		values := checkMetric(t, name, report[name])
		if name == "request_count" {
			checkExport(t, read(t, dir, "profile_export.json"), c, values["avg"])
		}
		row, want := table[name], statistics
		if slices.Contains(single, name) {
			want = want[:1]
		}
		if len(row) != len(want) && !c.hides(name) {
			t.Errorf("table: %s: %q", name, row)
			continue
		}
		for i, cell := range row {
			// Cells have two digits after the point.
			if v, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64); err != nil || v < values[want[i]]-0.01 || v > values[want[i]]+0.01 {
				t.Errorf("table: %s of %s: %q, not %v", want[i], name, cell, values[want[i]])
			}
		}
	}
	if strings.Contains(c.args, "session") {
		var sessions map[string]map[string]json.RawMessage
		if err := json.Unmarshal(report["sessions"], &sessions); err != nil || len(sessions) < 2 {
			t.Errorf("sessions: %v %s", err, report["sessions"])
		}
		for _, metrics := range sessions {
			for _, name := range c.want {
				checkMetric(t, name, metrics[name])
			}
		}
	}
}

// checkMetric returns the statistics of a metric, all of which must be there, above zero and in order.
func checkMetric(t *testing.T, name string, text json.RawMessage) map[string]float64 {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Errorf("%s: %v %s", name, err, text)
		return nil
	}
	values := map[string]float64{}
	for key, v := range all {
		if number, ok := v.(float64); ok {
			values[key] = number
		}
	}
	want := statistics
	if slices.Contains(single, name) {
		want = want[:1]
	}
	for _, key := range want {
		if values[key] <= 0 {
			t.Errorf("%s of %s: %v", key, name, all[key])
		}
	}
	if len(want) > 1 {
		if _, ok := values["std"]; !ok {
			t.Errorf("no deviation of %s", name)
		}
		for i := range want[3:] { // from p99 down
			if above := values[want[max(2, i+2)]]; values[want[i+3]] > above {
				t.Errorf("%s: %s is %v, more than %v", name, want[i+3], values[want[i+3]], above)
			}
		}
	}
	return values
}

// checkExport looks at the requests that perf_analyzer wrote down: as many as reported, each with its responses.
func checkExport(t *testing.T, text []byte, c gapCase, count float64) {
	t.Helper()
	var export struct {
		Experiments []struct {
			Experiment struct {
				Mode  string
				Value float64
			}
			Requests []struct {
				Timestamp int64
				Inputs    map[string]any   `json:"request_inputs"`
				Outputs   []map[string]any `json:"response_outputs"`
				Times     []int64          `json:"response_timestamps"`
			}
		}
	}
	if err := json.Unmarshal(text, &export); err != nil || len(export.Experiments) != 1 {
		t.Fatalf("export: %v, %d experiments", err, len(export.Experiments))
	}
	e := export.Experiments[0]
	if n := float64(len(e.Requests)); n != count || c.count != 0 && n != c.count {
		t.Errorf("%v requests in the export, %v in the report, %v asked for", n, count, c.count)
	}
	if strings.Contains(c.args, "request-rate 8") && (e.Experiment.Mode != "request_rate" || e.Experiment.Value != 8) {
		t.Errorf("%+v", e.Experiment)
	}
	for _, r := range e.Requests {
		if r.Timestamp == 0 || len(r.Inputs) == 0 || len(r.Times) == 0 || len(r.Outputs) != len(r.Times) || r.Times[0] < r.Timestamp || !slices.IsSorted(r.Times) {
			t.Errorf("export: %+v", r)
		}
	}
}

// readTable reads the report that is CSV: cells by the name of the metric, as the other report has it.
func readTable(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read := csv.NewReader(file)
	read.FieldsPerRecord = -1 // two tables follow each other
	rows, err := read.ReadAll()
	if err != nil || len(rows) < 2 || !slices.Equal(rows[0][1:], statistics) {
		t.Fatalf("%s: %v %q", path, err, rows)
	}
	table := map[string][]string{}
	for _, row := range rows {
		name, _, _ := strings.Cut(row[0], " (")
		table[strings.ReplaceAll(strings.ToLower(name), " ", "_")] = row[1:]
	}
	return table
}
