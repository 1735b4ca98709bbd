package aiperf_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/llm/dataset/prefix"
)

// AIPerf finds the same prefixes in a trace, and reads our analysis.
func TestAIPerfFindsTheSamePrefixes(t *testing.T) {
	p := install(t, peers.AIPerf)
	const block = 16
	dir := t.TempDir()
	path, file := filepath.Join(dir, "trace.jsonl"), filepath.Join(dir, "analysis.json")
	r := rand.New(rand.NewPCG(1, 2))
	var trace []byte
	fresh := 1000
	for range 300 {
		var ids []int
		root := r.IntN(5)
		for depth := range 1 + r.IntN(5) { // a start that others share
			ids = append(ids, root*10+depth)
		}
		for range r.IntN(4) {
			ids = append(ids, fresh)
			fresh++
		}
		line, err := json.Marshal(map[string]any{"input_length": (len(ids)-1)*block + 1 + r.IntN(block), "output_length": 1 + r.IntN(50), "hash_ids": ids})
		if err != nil {
			t.Fatal(err)
		}
		trace = append(append(trace, line...), '\n')
	}
	if err := os.WriteFile(path, trace, 0o600); err != nil {
		t.Fatal(err)
	}
	ours, err := prefix.Analyze(t.Context(), path, block)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var theirs prefix.Analysis
	decode(t, p.run(t, "python", "prefix.py", path, "16", file), &theirs)
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) })
	if d := cmp.Diff(&theirs, ours, near); d != "" {
		t.Errorf("prefixes (-AIPerf +Redline):\n%s", d)
	}
}
