package term

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// Status is the state of the window in progress.
type Status struct {
	Level string // "concurrency 8", "request rate 100"
	// Warmup: the level is not measured yet.
	Warmup bool
	// Number of the level in the run, from 1; Levels is how many the run has, 0 if that is not known.
	Number, Levels int
	Pass           int // counts from 1
	Passes         int // largest number of passes; 0 if unknown
	Elapsed        time.Duration
	Window         time.Duration // 0 when the window ends by count
	// Requests of this window until now; Wanted is the number that ends the window, 0 if it ends by time.
	Requests, Wanted uint64
	Rate             float64 // inferences per second, or what Unit says
	Unit             string  // unit of Rate; empty: infer/sec
	Median           time.Duration
	Failed           uint64
	// Tokens per second and the median time to first token of a language model; 0 if there are none.
	Tokens     float64
	FirstToken time.Duration
	// Left is about how long the run still takes; 0 if that is not known.
	Left time.Duration
	// Workers makes what each worker of a fleet has done; nil without a fleet. It is called only before Show returns.
	Workers func() []result.Worker
	seen    []result.Worker // what Workers made a moment ago
}

// The ranks of the parts of a line: on a narrow terminal the highest are omitted first.
const (
	always = iota
	numbers
	progress
	which
	extra
)

type part struct {
	text string
	rank int
}

func (s *Status) parts() []part {
	list := s.place()
	if s.Tokens > 0 {
		list = append(list, part{figure(s.Tokens) + " tokens/s", always}, part{s.rate(), extra})
	} else {
		list = append(list, part{s.rate(), always})
	}
	switch {
	case s.FirstToken > 0:
		list = append(list, part{"TTFT p50 " + unit.Span(float64(s.FirstToken)), numbers})
	case s.Requests > 0:
		list = append(list, part{"p50 " + unit.Span(float64(s.Median)), numbers})
	}
	if s.Failed > 0 {
		list = append(list, part{strconv.FormatUint(s.Failed, 10) + " failed", always})
	}
	return append(list, s.workers()...)
}

// place tells where the run is: level, window, requests, time left.
func (s *Status) place() []part {
	level := s.Level
	switch {
	case s.Levels > 1:
		level = strings.TrimSuffix(fmt.Sprintf("level %d of %d, %s", s.Number, s.Levels, s.Level), ", ")
	case s.Number > 1:
		level = strings.TrimSuffix(fmt.Sprintf("level %d, %s", s.Number, s.Level), ", ")
	}
	list := []part{{level, which}}
	if s.Pass > 0 {
		text := "window " + strconv.Itoa(s.Pass)
		if s.Passes > 1 {
			text += " of at most " + strconv.Itoa(s.Passes)
		}
		list = append(list, part{text, extra})
	}
	if s.Wanted > 0 {
		list = append(list, part{fmt.Sprintf("%d of %d requests", s.Requests, s.Wanted), progress})
	}
	switch {
	case s.Left > 0:
		list = append(list, part{"about " + wait(s.Left) + " left", progress})
	case s.Window > 0:
		list = append(list, part{wait(max(0, s.Window-s.Elapsed)) + " left", progress})
	}
	return list
}

func (s *Status) rate() string { return figure(s.Rate) + " " + s.unit() }

func (s *Status) unit() string { return cmp.Or(s.Unit, "infer/sec") }

// wait formats a time that passes: "3.2 s", "45 s", "2 min 05 s", "1 h 10 min".
func wait(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	case s < 7200:
		return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(s)/3600, int(s)/60%60)
	}
}

// fit returns the line in at most width columns. It omits less important parts before it cuts the line.
func (s *Status) fit(width int) string {
	list := s.parts()
	for rank := extra + 1; ; rank-- {
		var kept []string
		for _, p := range list {
			if p.text != "" && p.rank < rank {
				kept = append(kept, p.text)
			}
		}
		line := strings.Join(kept, " | ")
		if utf8.RuneCountInString(line) <= width {
			return line
		}
		if rank == always+1 {
			return cut(line, width)
		}
	}
}

func cut(line string, width int) string {
	if width <= 0 {
		return ""
	}
	if runes := []rune(line); len(runes) > width {
		return string(runes[:width])
	}
	return line
}

// figure formats a number for reading while it changes: whole from 100 on, else three digits.
func figure(v float64) string { return unit.Digits(v, 3) }
