//go:build linux

package browser

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/result"
)

// tuned makes a result that of a search for a configuration: a best candidate, the present one, one that is in the Pareto front and one
// that did not load.
func tuned(res *result.Result) {
	high := 410.0
	gpu := func(watts float64) *result.GPU {
		return &result.GPU{PowerWatts: map[string]float64{"GPU-1": watts}, MemoryUsed: map[string]uint64{"GPU-1": 2e9}}
	}
	candidate := func(instances, batch int, capacity, p99 float64) result.TuneCandidate {
		return result.TuneCandidate{
			Knobs: map[string]any{"instances": instances, "max_batch": batch}, Stage: "screen", Capacity: capacity, Low: capacity, High: &high, Inferences: capacity, Batch: 1, P99Ms: p99,
			Server: &result.TuneServer{QueueMs: 3, ComputeInferMs: 20}, GPU: gpu(100 + capacity), Probes: 3,
		}
	}
	list := []result.TuneCandidate{candidate(1, 32, 200, 60), candidate(2, 8, 400, 50), candidate(1, 8, 220, 30), candidate(2, 32, 0, 0)}
	list[0].Present, list[1].Stage, list[1].Pareto, list[2].Pareto, list[3].Failed = true, "find", true, true, "out of memory"
	res.Command, res.CommandLine = "tune", "redline tune -m made --slo p99<60ms"
	res.Tune = &result.Tune{
		Model: "made", Objectives: []string{"p99<60ms"}, State: "complete", Space: 8, Probes: 12, Candidates: list, Best: &list[1],
		Knobs: []result.TuneKnob{
			{Name: "instances", Values: []string{"1", "2"}, Best: []float64{220, 400}, Ratio: 1.82},
			{Name: "max_batch", Values: []string{"8", "32"}, Best: []float64{400, 200}},
		},
		Configs: []result.TuneConfig{{Model: "made", Text: "max_batch_size: 8\n", Diff: "-max_batch_size: 32\n+max_batch_size: 8\n"}},
	}
}

func TestConfigurations(t *testing.T) {
	p := made{levels: 1, requests: 500, start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), alter: tuned}.open(t)
	p.want("the answer", `[...document.querySelectorAll("#tune .tile")].map((t) => t.innerText.split("\n").slice(0, 2).join(" ")).join("|")`,
		"Best, requests/s 400|instances 2|max_batch 8|Against now ×2|Measured 4 of 8")
	outside := made{levels: 1, requests: 500, start: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), alter: func(res *result.Result) {
		tuned(res)
		res.Tune.Candidates[0].Knobs = map[string]any{"instances": 3, "max_batch": 16}
	}}.open(t)
	outside.want("a present configuration that is no candidate", `[...document.querySelectorAll("#tune .tile")].pop().innerText`, "Measured\n3 of 8\nand the present one; 12 loads")
	p.want("what is known of the best", `document.querySelector("#tune .tile i").textContent`, "an objective fails at 410")
	p.want("the mark of the best is not cut", `(() => {
		const canvas = document.querySelector("#tune canvas"), ink = parseInt(getComputedStyle(document.documentElement).getPropertyValue("--c2").trim().slice(1), 16);
		const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
		let n = 0;
		for (let i = 0; i < data.length; i += 4) if ((data[i] << 16 | data[i + 1] << 8 | data[i + 2]) === ink) n++;
		return n >= 35;
	})()`, "true")
	p.want("the charts", `[...document.querySelectorAll("#tune .chart h3")].map((h) => h.textContent).join()`, "Capacity and p99,instances ×1.82,max_batch")
	p.want("every candidate", `[...document.querySelectorAll("#tune .scroll tbody tr")].map((r) => [0, 4, 5, 6, 7, 10].map((i) => r.cells[i].textContent).join(" ")).join("|")`,
		"400 2,000 MB 500 W 2 8 best|220 to 410 2,000 MB 320 W 1 8 Pareto front|200 to 410 2,000 MB 300 W 1 32 now|none 2,000 MB 100 W 2 32 out of memory")
	p.want("what changes", `document.querySelector("#tune details pre").textContent.trim()`, "-max_batch_size: 32\n+max_batch_size: 8")
	p.want("elements that were written as text", `document.body.innerText.includes("[object")`, "false")
	p.atWidths("tune")
	p.quiet("file://")
}
