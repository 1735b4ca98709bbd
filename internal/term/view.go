package term

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/unit"
)

// viewInterval is the shortest time between two drawings of a view.
const viewInterval = 250 * time.Millisecond

// settled is how long a window must have run before its numbers are noted: the first ones say little.
const settled = 200 * time.Millisecond

// Look is what a terminal can show.
type Look struct {
	Color   bool // bold and dim text
	Unicode bool // blocks of different heights
}

// view is a row for each level, with the course of its throughput and its latency.
type view struct {
	look   Look
	levels []*levelRow
}

// levelRow is one level. rates and latencies are what was shown while it ran, in equal distances.
type levelRow struct {
	number    int
	name      string
	status    Status
	ended     bool
	rates     course
	latencies course
}

// note adds a status to the row of its level.
func (v *view) note(s Status) {
	n := len(v.levels)
	if n == 0 || v.levels[n-1].number != s.Number || v.levels[n-1].ended {
		v.levels, n = append(v.levels, &levelRow{number: s.Number}), n+1
	}
	row := v.levels[n-1]
	if row.status.Warmup && !s.Warmup {
		*row = levelRow{number: s.Number}
	}
	row.name, row.status = cmp.Or(s.Level, "run"), s
	rate, median := s.main()
	if settled := s.Elapsed >= settled || s.Window == 0 && s.Wanted == 0; settled && rate > 0 {
		row.rates.add(rate)
		row.latencies.add(float64(median))
	}
}

// end notes the numbers of the level that has ended.
func (v *view) end(s Status) {
	if n := len(v.levels); n > 0 && !v.levels[n-1].ended {
		row := v.levels[n-1]
		row.status, row.ended = s, true
	}
}

// main are the throughput and the latency that matter most: tokens and first token of a language model.
func (s *Status) main() (rate float64, median time.Duration) {
	rate, median = s.Rate, s.Median
	if s.Tokens > 0 {
		rate = s.Tokens
	}
	if s.FirstToken > 0 {
		median = s.FirstToken
	}
	return rate, median
}

// rows is the whole view in at most width columns and height rows: the status, a heading, the levels, the workers of a fleet. The oldest levels
// are left out first.
func (v *view) rows(s *Status, width, height int) []string {
	list := []string{v.style(bold, s.fit(width))}
	levels := v.levels
	workers := workerRoom(s, height)
	room := height - 2 - workers
	if room < 1 || len(levels) == 0 {
		return list
	}
	hidden := 0
	if len(levels) > room {
		hidden = len(levels) - max(0, room-1)
		levels = levels[hidden:]
	}
	t := v.layout(s, width)
	list = append(list, v.style(dim, cut(t.heading(), width)))
	if hidden > 0 {
		list = append(list, v.style(dim, cut(fmt.Sprintf("  %d earlier levels", hidden), width)))
	}
	for _, row := range levels {
		list = append(list, t.row(row, width))
	}
	if workers == 0 {
		return list
	}
	heading, rows := t.workerRows(s.seen, workers)
	list = append(list, v.style(dim, cut(heading, width)))
	for _, row := range rows {
		list = append(list, cut(row, width))
	}
	return list
}

// table is the layout of the rows: widths of columns, and the scale that all curves share, from 0 to the largest value.
type table struct {
	name, curve      int
	rate, latency    string // headings
	most, mostMedian float64
	signs            []rune
}

// Widths of numbers, and of curves at least and at most.
const numberWidth, curveLeast, curveMost = 11, 6, 40

func (v *view) layout(s *Status, width int) *table {
	t := &table{name: max(5, workerName(s.seen)), rate: s.unit(), latency: "p50", signs: []rune("_.:-=+*#")}
	if v.look.Unicode {
		t.signs = []rune("▁▂▃▄▅▆▇█")
	}
	if s.Tokens > 0 {
		t.rate = "tokens/s"
	}
	if s.FirstToken > 0 {
		t.latency = "TTFT p50"
	}
	for _, row := range v.levels {
		t.name = max(t.name, utf8.RuneCountInString(row.name))
		t.most = max(t.most, row.rates.most())
		t.mostMedian = max(t.mostMedian, row.latencies.most())
	}
	t.name = min(t.name, max(8, width-2*numberWidth-4))
	t.curve = min((width-t.name-2*numberWidth-8)/2, curveMost)
	if t.curve < curveLeast {
		t.curve = 0
	}
	return t
}

func (t *table) heading() string { return t.line("  ", "level", t.rate, "", t.latency, "") }

func (t *table) row(r *levelRow, width int) string {
	mark := "> "
	if r.ended {
		mark = "  "
	}
	rate, median := r.status.main()
	return cut(t.line(mark, r.name, figure(rate), r.rates.draw(t.curve, t.most, t.signs), unit.Span(float64(median)), r.latencies.draw(t.curve, t.mostMedian, t.signs)), width)
}

// line is one row of the table.
func (t *table) line(mark, name, rate, rates, median, medians string) string {
	text := fmt.Sprintf("%s%s %*s", mark, pad(cut(name, t.name), t.name), numberWidth, rate)
	if t.curve > 0 {
		text += "  " + pad(rates, t.curve)
	}
	text += fmt.Sprintf(" %*s", numberWidth, median)
	if t.curve > 0 {
		text += "  " + medians
	}
	return strings.TrimRight(text, " ")
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// The styles of a row.
const (
	bold = 1
	dim  = 2
)

func (v *view) style(code int, text string) string {
	if !v.look.Color {
		return text
	}
	return "\x1b[" + strconv.Itoa(code) + "m" + text + "\x1b[0m"
}

// course is how a value went, in equal distances of time. It keeps at most courseMost means: when it is full, two neighbors
// become one, and each mean stands for twice as many values from then on.
type course struct {
	means []float64
	each  int // values in a mean; 0 is 1
	sum   float64
	n     int // values in sum
}

const courseMost = 256

func (c *course) add(v float64) {
	c.each = cmp.Or(c.each, 1)
	c.sum += v
	if c.n++; c.n < c.each {
		return
	}
	c.means = append(c.means, c.sum/float64(c.n))
	c.sum, c.n = 0, 0
	if len(c.means) < courseMost {
		return
	}
	for i := range c.means[:courseMost/2] {
		c.means[i] = (c.means[2*i] + c.means[2*i+1]) / 2
	}
	c.means, c.each = c.means[:courseMost/2], 2*c.each
}

func (c *course) most() float64 {
	if len(c.means) == 0 {
		return 0
	}
	return slices.Max(c.means)
}

// draw is the course in at most width signs, the first of which stands for 0 and the last for most.
func (c *course) draw(width int, most float64, signs []rune) string {
	if width <= 0 || most <= 0 || math.IsInf(most, 0) || math.IsNaN(most) {
		return ""
	}
	n := min(width, len(c.means))
	var b strings.Builder
	for i := range n {
		part := c.means[i*len(c.means)/n : (i+1)*len(c.means)/n]
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		share := sum / float64(len(part)) / most
		b.WriteRune(signs[min(max(0, int(share*float64(len(signs)))), len(signs)-1)])
	}
	return b.String()
}
