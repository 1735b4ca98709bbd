package term

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// workersEvery is the shortest time between two looks at the workers of a fleet: there may be thousands.
const workersEvery = time.Second

// look asks for what the workers have done, not too often.
func (l *Line) look(s *Status, now time.Time) {
	switch {
	case s.Workers == nil:
		l.workers = nil
	case l.workers == nil || now.Sub(l.looked) >= workersEvery:
		l.workers, l.looked = s.Workers(), now
	}
	s.seen, s.Workers = l.workers, nil
}

// lost counts the workers that are no longer part of the run.
func lost(list []result.Worker) (n int) {
	for i := range list {
		if list[i].Lost != "" {
			n++
		}
	}
	return n
}

// workers says how many workers make the load, and how many are lost.
func (s *Status) workers() []part {
	switch gone := lost(s.seen); {
	case len(s.seen) == 0:
		return nil
	case gone > 0:
		return []part{{fmt.Sprintf("%d of %d workers lost", gone, len(s.seen)), always}}
	default:
		return []part{{fmt.Sprintf("%d workers", len(s.seen)), extra}}
	}
}

// workerRoom is how many rows of the view the workers have: a heading and one each, at most half of the view. A low view shows none.
func workerRoom(s *Status, height int) int {
	if len(s.seen) == 0 || height < 6 {
		return 0
	}
	return min(len(s.seen)+1, height/2)
}

// workerRows are a heading and the workers in at most room rows, the lost ones first.
func (t *table) workerRows(list []result.Worker, room int) (heading string, rows []string) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b result.Worker) int { return lost([]result.Worker{b}) - lost([]result.Worker{a}) })
	room--
	hidden := 0
	if len(list) > room {
		hidden = len(list) - max(0, room-1)
		list = list[:len(list)-hidden]
	}
	for i := range list {
		w := &list[i]
		if w.Lost != "" {
			rows = append(rows, t.line("! ", cleantext.Line(w.Name), "lost", "", "", ""))
			continue
		}
		rows = append(rows, t.line("  ", cleantext.Line(w.Name), figure(w.InferPerSec), "", unit.Span(float64(w.P50Ns)), ""))
	}
	if hidden > 0 {
		rows = append(rows, fmt.Sprintf("  %d more workers", hidden))
	}
	return t.line("  ", "worker", "", "", "", ""), rows
}

// workerName is the width of the longest name of a worker.
func workerName(list []result.Worker) (width int) {
	for i := range list {
		width = max(width, utf8.RuneCountInString(cleantext.Line(list[i].Name)))
	}
	return width
}

// workerReport is the JSON form of a worker.
type workerReport struct {
	Name     string  `json:"name"`
	Requests uint64  `json:"requests"`
	Failed   uint64  `json:"failed"`
	Rate     float64 `json:"rate"`
	MedianMs float64 `json:"p50_ms"`
	Lost     string  `json:"lost,omitempty"`
}

func workerReports(list []result.Worker) (out []workerReport) {
	for i := range list {
		w := &list[i]
		out = append(out, workerReport{
			Name: cleantext.Line(w.Name), Requests: w.Requests, Failed: w.Failed, Rate: w.InferPerSec, MedianMs: float64(w.P50Ns) / float64(time.Millisecond), Lost: cleantext.Line(w.Lost),
		})
	}
	return out
}
