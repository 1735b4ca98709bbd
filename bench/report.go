package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is the table.
type report struct {
	Date    string   `json:"date"`
	Machine string   `json:"machine"`
	Rows    []row    `json:"rows"`
	Notes   []string `json:"notes,omitempty"`
}

// row is one tool at one piece of work.
type row struct {
	Work      string  `json:"work"`
	InFlight  int     `json:"in_flight"`
	Tool      string  `json:"tool"`
	CPUMicros float64 `json:"cpu_us_per_request"`
	PerSecond float64 `json:"requests_per_second"`
	Runs      int     `json:"runs"`
	Peer      string  `json:"peer,omitempty"`
	Bar       float64 `json:"bar,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	Verdict   string  `json:"verdict,omitempty"`
}

func newReport() *report {
	return &report{
		Date:    time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Machine: fmt.Sprintf("%s, %d cores, %s/%s, %s", cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
	}
}

func (r *report) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, n) {
		r.Notes = append(r.Notes, n)
	}
}

// add turns the samples of one piece of work into rows: ours first, with the verdict.
func (r *report) add(w work, samples map[string][]sample) {
	cost := map[string]float64{}
	for name, s := range samples {
		cost[name] = micros(median(s))
	}
	for _, name := range []string{"redline", "wrk", "h2load", "perf_analyzer"} {
		s := samples[name]
		if len(s) == 0 {
			continue
		}
		m := median(s)
		line := row{
			Work: w.name, InFlight: w.inFlight, Tool: name, Runs: len(s),
			CPUMicros: cost[name], PerSecond: float64(m.requests) / m.wall.Seconds(),
		}
		if name == "redline" {
			line.Peer, line.Bar, line.Verdict = w.peer, w.bar, "not measured"
			if peer := cost[w.peer]; peer > 0 {
				line.Ratio = cost[name] / peer
				line.Verdict = map[bool]string{true: "reached", false: "missed"}[line.Ratio <= w.bar]
			}
		}
		r.Rows = append(r.Rows, line)
	}
}

func micros(s sample) float64 { return float64(s.perRequest().Nanoseconds()) / 1e3 }

func median(s []sample) sample {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b sample) int { return cmp.Compare(a.perRequest(), b.perRequest()) })
	return s[len(s)/2]
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n\n", r.Date, r.Machine)
	b.WriteString("| work | in flight | tool | CPU per request | requests/s | bar | |\n|---|--:|---|--:|--:|---|---|\n")
	for _, x := range r.Rows {
		bar := ""
		if x.Bar > 0 {
			bar = fmt.Sprintf("≤ %.3g × %s", x.Bar, x.Peer)
			if x.Ratio > 0 {
				bar += fmt.Sprintf(": %.2f ×", x.Ratio)
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %.2f µs | %.0f | %s | %s |\n", x.Work, x.InFlight, x.Tool, x.CPUMicros, x.PerSecond, bar, x.Verdict)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", n)
	}
	return b.String()
}

func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "bench.md"), []byte(r.markdown()), 0o644)
}

func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return "unknown CPU"
}
