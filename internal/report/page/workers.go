package page

import (
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

// WorkerView is what one worker of a fleet did in a level.
type WorkerView struct {
	Name       string  `json:"name"`
	Lost       string  `json:"lost,omitempty"`    // why the worker is no longer part of the run
	Limited    bool    `json:"limited,omitempty"` // the worker limited its share of the load
	Requests   uint64  `json:"requests"`
	Failed     uint64  `json:"failed"`
	Throughput float64 `json:"throughput"`
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
	InFlight   float64 `json:"in_flight"`
	CPU        float64 `json:"cpu"` // cores
	LagP99     float64 `json:"lag_p99"`
}

func workerViews(list []result.Worker) []WorkerView {
	var out []WorkerView
	for i := range list {
		w := &list[i]
		out = append(out, WorkerView{
			Name: cleantext.Line(w.Name), Lost: cleantext.Line(w.Lost), Limited: w.ClientLimited, Requests: w.Requests, Failed: w.Failed,
			Throughput: round(w.InferPerSec), P50: ms(w.P50Ns), P99: ms(w.P99Ns), InFlight: round(w.Health.AchievedInFlight), CPU: round(w.Health.CPUCores), LagP99: ms(w.Health.LagP99Ns),
		})
	}
	return out
}

// fleetText says how exactly the workers of a run worked together; it is empty for a run without workers.
func fleetText(f *result.Fleet) string {
	var b strings.Builder
	report.Fleet(&b, f)
	return cleantext.Line(strings.TrimSpace(b.String()))
}
