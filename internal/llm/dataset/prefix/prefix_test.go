package prefix_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm/dataset/prefix"
)

func write(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Three requests share the first block, two of them the second; a fourth stands alone.
func small(t *testing.T) string {
	return write(t,
		`{"input_length":30,"output_length":10,"hash_ids":[1,2,3],"timestamp":0}`,
		`{"input_length":25,"output_length":20,"hash_ids":[1,2,4],"timestamp":1000,"priority":"high"}`,
		`{"input_length":20,"output_length":30,"hash_ids":[1,5],"timestamp":2000}`,
		`{"input_length":15,"output_length":40,"hash_ids":[6,7],"timestamp":3000}`)
}

func TestAnalyze(t *testing.T) {
	got, err := prefix.Analyze(t.Context(), small(t), 10)
	if err != nil {
		t.Fatal(err)
	}
	hits := prefix.Spread{Mean: (2./3 + 0.5) / 4, Max: 2. / 3, Median: 0.25, P75: 0.5 + (2./3-0.5)*0.25}
	hits.StdDev = got.Hits.StdDev
	want := &prefix.Analysis{
		Requests: 4, UniquePrefixes: 7, PrefixGroups: 1, Reuse: 5. / 10, HitRate: hits.Mean, Hits: &hits,
		Extremes: prefix.Extremes{MinInput: 15, MaxInput: 30, MeanInput: 22.5, MinOutput: 10, MaxOutput: 40, MeanOutput: 25},
		Input:    prefix.Spread{Mean: 22.5, StdDev: got.Input.StdDev, Min: 15, P25: 18.75, Median: 22.5, P75: 26.25, Max: 30},
		Output:   prefix.Spread{Mean: 25, StdDev: got.Output.StdDev, Min: 10, P25: 17.5, Median: 25, P75: 32.5, Max: 40},
		Context:  prefix.Spread{Mean: 12.5, StdDev: got.Context.StdDev, P25: 7.5, Median: 15, P75: 20, Max: 20},
		Unique:   prefix.Spread{Mean: 10, StdDev: got.Unique.StdDev, Min: 5, P25: 8.75, Median: 10, P75: 11.25, Max: 15},
	}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if d := cmp.Diff(want, got, near); d != "" {
		t.Error(d)
	}
	if s := got.Output.StdDev; s < 11.18 || s > 11.19 { // of the population
		t.Error(s)
	}
}

// request is what a test looks at.
type request struct {
	Input  int     `json:"input_length"`
	Output int     `json:"output_length"`
	IDs    []int64 `json:"hash_ids"`
	At     float64 `json:"timestamp"`
	Extra  string  `json:"priority"`
}

func synthesize(t *testing.T, path string, set func(*prefix.Change)) []request {
	t.Helper()
	c := prefix.Unchanged()
	c.Block = 10
	set(&c)
	var b bytes.Buffer
	n, err := prefix.Synthesize(t.Context(), path, c, &b)
	if err != nil {
		t.Fatal(err)
	}
	var list []request
	for line := range strings.Lines(b.String()) {
		var r request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if len(list) != n {
		t.Errorf("%d requests, said %d", len(list), n)
	}
	return list
}

// common is how many blocks two requests share at the start.
func common(a, b request) int {
	n := 0
	for n < min(len(a.IDs), len(b.IDs)) && a.IDs[n] == b.IDs[n] {
		n++
	}
	return n
}

func TestSynthesize(t *testing.T) {
	path := small(t)
	same := synthesize(t, path, func(*prefix.Change) {})
	var lengths []int
	for _, r := range same {
		lengths = append(lengths, r.Input)
	}
	if d := cmp.Diff([]int{30, 25, 20, 15}, lengths); d != "" || common(same[0], same[1]) != 2 || common(same[0], same[2]) != 1 || common(same[0], same[3]) != 0 || same[1].Extra != "high" {
		t.Errorf("%s %+v", d, same)
	}

	long := synthesize(t, path, func(c *prefix.Change) { c.Prefix, c.Prompt, c.Output, c.Speed = 2.5, 2, 0.5, 4 })
	// The first two share ⌊2·2.5⌋ = 5 blocks, all three ⌊2.5⌋ = 2; what they do not share is twice as long.
	if common(long[0], long[1]) != 5 || common(long[0], long[2]) != 2 || common(long[1], long[3]) != 0 {
		t.Errorf("%+v", long)
	}
	if got := []int{long[0].Input, long[1].Input, long[2].Input, long[3].Input}; cmp.Diff([]int{50 + 20, 50 + 10, 20 + 20, 30}, got) != "" {
		t.Error(got)
	}
	if long[3].Output != 20 || long[3].At != 750 || len(long[3].IDs) != 3 {
		t.Errorf("%+v", long[3])
	}

	short := synthesize(t, path, func(c *prefix.Change) { c.MaxInput, c.MaxOutput = 12, 15 })
	for _, r := range short {
		if r.Input > 12 || r.Output > 15 || len(r.IDs) > 2 {
			t.Errorf("%+v", r)
		}
	}
}

// Copies of the tree share nothing; the turns of a session stay in one of them.
func TestTrees(t *testing.T) {
	var lines []string
	for range 40 {
		lines = append(lines, `{"input_length":20,"hash_ids":[1,2]}`, `{"session_id":"a","input_length":20,"hash_ids":[1,2]}`)
	}
	roots, sessions := map[int64]bool{}, map[int64]bool{}
	for i, r := range synthesize(t, write(t, lines...), func(c *prefix.Change) { c.Trees = 3 }) {
		roots[r.IDs[0]] = true
		if i%2 == 1 {
			sessions[r.IDs[0]] = true
		}
	}
	if len(roots) != 3 || len(sessions) != 1 {
		t.Errorf("%d trees, %d of one session", len(roots), len(sessions))
	}
}

func TestBrokenTraces(t *testing.T) {
	for line, want := range map[string]string{
		`nothing`:                                "line 1: expected a JSON object",
		`{"input_length":"x"}`:                   "line 1: input_length",
		`{"input_length":10,"hash_ids":[1,2,3]}`: "line 1: 3 hash_ids of 10 tokens do not fit an input_length of 10; set the block size with --block-size",
		`{"input_length":-1}`:                    "must not be negative",
		``:                                       "the trace has no request",
	} {
		if _, err := prefix.Analyze(t.Context(), write(t, line), 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := prefix.Synthesize(t.Context(), write(t, `{"timestamp":"x"}`), prefix.Change{Block: 1, Speed: 2, Trees: 1}, new(bytes.Buffer)); err == nil {
		t.Error("a text as a time passed")
	}
}
