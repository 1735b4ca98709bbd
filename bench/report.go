package main

import (
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

	dir    string // where it is written as it grows; "" is nowhere
	failed bool   // a group could not be measured
}

// row is one tool at one task.
type row struct {
	Work      string  `json:"work"`
	InFlight  int     `json:"in_flight,omitempty"`
	Tool      string  `json:"tool"`
	Figure    float64 `json:"figure"`
	Unit      string  `json:"unit"`
	PerSecond float64 `json:"requests_per_second,omitempty"`
	Bar       string  `json:"bar,omitempty"`      // in words
	Measured  float64 `json:"measured,omitempty"` // what the bar is about
	Low       float64 `json:"low,omitempty"`      // the interval of Measured, if it is a ratio of turns
	High      float64 `json:"high,omitempty"`
	Verdict   string  `json:"verdict,omitempty"`
}

// The verdicts.
const (
	reached      = "reached"
	missed       = "missed"
	inconclusive = "inconclusive"
	unknown      = "not measured"
)

// bar is a limit, such as "at most 1.25 × wrk".
type bar struct {
	limit float64
	least bool // the limit is a floor
	unit  string
}

func atMost(limit float64, unit string) bar  { return bar{limit: limit, unit: unit} }
func atLeast(limit float64, unit string) bar { return bar{limit: limit, least: true, unit: unit} }

func (b bar) String() string {
	sign := "≤"
	if b.least {
		sign = "≥"
	}
	return fmt.Sprintf("%s %.4g %s", sign, b.limit, b.unit)
}

// judge sets the verdict of a row.
func (x *row) judge(b bar, measured float64) {
	x.Bar, x.Measured, x.Verdict = b.String(), measured, missed
	if b.least && measured >= b.limit || !b.least && measured <= b.limit {
		x.Verdict = reached
	}
}

// unmeasured leaves the verdict open: the peer is not installed.
func (x *row) unmeasured(b bar) { x.Bar, x.Verdict = b.String(), unknown }

func newReport(dir string) *report {
	return &report{
		dir:     dir,
		Date:    time.Now().UTC().Format("2006-01-02 15:04 MST"),
		Machine: fmt.Sprintf("%s, %d cores, %s/%s, %s", cpuModel(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
	}
}

// add adds rows and writes the report, so that no measurement is lost. The write at the end reports errors.
func (r *report) add(rows ...row) {
	r.Rows = append(r.Rows, rows...)
	_ = r.write()
}

func (r *report) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, n) {
		r.Notes = append(r.Notes, n)
	}
}

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s\n\n", r.Date, r.Machine)
	b.WriteString("| work | in flight | tool | figure | requests/s | bar | measured | |\n|---|--:|---|--:|--:|---|--:|---|\n")
	for _, x := range r.Rows {
		var inFlight, rate, measured string
		if x.InFlight > 0 {
			inFlight = fmt.Sprint(x.InFlight)
		}
		if x.PerSecond > 0 {
			rate = fmt.Sprintf("%.0f", x.PerSecond)
		}
		if x.Verdict != "" && x.Verdict != unknown {
			measured = fmt.Sprintf("%.4g", x.Measured)
		}
		if x.High > 0 {
			measured += fmt.Sprintf(" (%.4g to %.4g)", x.Low, x.High)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s %s | %s | %s | %s | %s |\n", x.Work, inFlight, x.Tool, figure(x.Figure), x.Unit, rate, x.Bar, measured, x.Verdict)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", n)
	}
	return b.String()
}

// figure formats a number, with two decimals if it is small.
func figure(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func (r *report) write() error {
	if r.dir == "" {
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "bench.json"), append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, "bench.md"), []byte(r.markdown()), 0o644)
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
