package term

import (
	"encoding/json"
	"io"
	"time"
)

// beat is the interval of progress reports for programs.
const beat = time.Second

// NewJSON makes a Line that writes progress for programs: one JSON object per line, about one per second.
func NewJSON(out io.Writer, now func() time.Time) *Line {
	return &Line{out: out, now: now, json: true}
}

// report is the JSON form of a Status.
type report struct {
	Event      string  `json:"event"` // always progress
	Level      string  `json:"level,omitempty"`
	Number     int     `json:"level_number,omitempty"`
	Levels     int     `json:"levels,omitempty"`
	Window     int     `json:"window,omitempty"`
	Windows    int     `json:"windows,omitempty"`
	ElapsedSec float64 `json:"elapsed_s"`
	WindowSec  float64 `json:"window_s,omitempty"`
	Requests   uint64  `json:"requests"`
	Wanted     uint64  `json:"wanted,omitempty"`
	Failed     uint64  `json:"failed"`
	Rate       float64 `json:"rate"`
	Tokens     float64 `json:"tokens_per_s,omitempty"`
	FirstMs    float64 `json:"ttft_p50_ms,omitempty"`
	LeftSec    float64 `json:"left_s,omitempty"` // of the run, estimated
	MedianMs   float64 `json:"p50_ms"`
	// Workers are those of a fleet.
	Workers []workerReport `json:"workers,omitempty"`
}

func (l *Line) tell() {
	s := &l.status
	text, err := json.Marshal(report{
		Event: "progress", Level: s.Level, Number: s.Number, Levels: s.Levels, Window: s.Pass, Windows: s.Passes, ElapsedSec: s.Elapsed.Seconds(), WindowSec: s.Window.Seconds(),
		Requests: s.Requests, Wanted: s.Wanted, Failed: s.Failed, Rate: s.Rate, MedianMs: float64(s.Median) / float64(time.Millisecond),
		Tokens: s.Tokens, FirstMs: float64(s.FirstToken) / float64(time.Millisecond), LeftSec: s.Left.Seconds(),
		Workers: workerReports(s.seen),
	})
	if err != nil {
		return // the rate is not a finite number yet
	}
	_, _ = l.out.Write(append(text, '\n')) // a write error must not end the run
}
