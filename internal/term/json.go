package term

import (
	"encoding/json"
	"io"
	"time"
)

// beat is how often progress is told to a machine.
const beat = time.Second

// NewJSON makes a line that tells progress to a machine: an object per line, about one a second.
func NewJSON(out io.Writer, now func() time.Time) *Line {
	return &Line{out: out, now: now, json: true}
}

// report is a Status as machines read it.
type report struct {
	Event      string  `json:"event"` // always progress
	Level      string  `json:"level,omitempty"`
	Window     int     `json:"window,omitempty"`
	Windows    int     `json:"windows,omitempty"`
	ElapsedSec float64 `json:"elapsed_s"`
	WindowSec  float64 `json:"window_s,omitempty"`
	Requests   uint64  `json:"requests"`
	Wanted     uint64  `json:"wanted,omitempty"`
	Failed     uint64  `json:"failed"`
	Rate       float64 `json:"rate"`
	MedianMs   float64 `json:"p50_ms"`
}

func (l *Line) tell() {
	s := &l.status
	text, err := json.Marshal(report{
		Event: "progress", Level: s.Level, Window: s.Pass, Windows: s.Passes, ElapsedSec: s.Elapsed.Seconds(), WindowSec: s.Window.Seconds(),
		Requests: s.Requests, Wanted: s.Wanted, Failed: s.Failed, Rate: s.Rate, MedianMs: float64(s.Median) / float64(time.Millisecond),
	})
	if err != nil {
		return // a rate that is no number; the next one will be
	}
	_, _ = l.out.Write(append(text, '\n')) // a reader that is gone must not end the run
}
