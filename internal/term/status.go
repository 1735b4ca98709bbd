package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Status is the state of the window in progress.
type Status struct {
	Level   string // "concurrency 8", "request rate 100"
	Pass    int    // counts from 1
	Passes  int    // largest number of passes; 0 if unknown
	Elapsed time.Duration
	Window  time.Duration // 0 when the window ends by count
	// Requests of this window until now; Wanted is the number that ends the window, 0 if it ends by time.
	Requests, Wanted uint64
	Rate             float64 // inferences per second
	Median           time.Duration
	Failed           uint64
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
	list := []part{{s.Level, which}}
	if s.Pass > 0 {
		text := "window " + strconv.Itoa(s.Pass)
		list = append(list, part{text, extra})
		if s.Passes > 1 {
			list[1].text += " of at most " + strconv.Itoa(s.Passes)
		}
	}
	switch {
	case s.Window > 0:
		list = append(list, part{fmt.Sprintf("%.1f s left", max(0, s.Window-s.Elapsed).Seconds()), progress})
	case s.Wanted > 0:
		list = append(list, part{fmt.Sprintf("%d of %d requests", s.Requests, s.Wanted), progress})
	}
	list = append(list, part{figure(s.Rate) + " infer/sec", always})
	if s.Requests > 0 {
		list = append(list, part{"p50 " + strconv.FormatInt(s.Median.Microseconds(), 10) + " usec", numbers})
	}
	if s.Failed > 0 {
		list = append(list, part{strconv.FormatUint(s.Failed, 10) + " failed", always})
	}
	return list
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
	return string([]rune(line)[:width])
}

// figure formats a number for reading while it changes: whole from 100 on, else three digits.
func figure(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
