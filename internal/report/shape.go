package report

import (
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// bars are the heights of a column of a histogram on a terminal.
var bars = []rune(" ▁▂▃▄▅▆▇█")

const mostColumns, fewestColumns = 48, 8

// Shapes draws the distribution of each level's latency as a row of columns, all levels on one logarithmic scale, so that
// they can be compared. It writes nothing if the terminal is too narrow.
func Shapes(w io.Writer, levels []result.Level, width int) {
	low, high := bounds(levels)
	if low == 0 {
		return
	}
	const tail = " p50 000.0 ms, p99 000.0 ms"
	name := 0
	for i := range levels {
		name = max(name, utf8.RuneCountInString(measure.LevelName(&levels[i])))
	}
	n := min(mostColumns, width-name-len(tail)-4)
	if n < fewestColumns {
		return
	}
	var p page
	p.linef("Latency from %s to %s, on a logarithmic scale", unit.Span(float64(low)), unit.Span(float64(high)))
	for i := range levels {
		lv := &levels[i]
		if lv.Histogram == nil || len(lv.Histogram.Buckets) == 0 {
			continue
		}
		l := &lv.Client.Latency
		p.linef("  %-*s %s p50 %s, p99 %s", name, cleantext.Line(measure.LevelName(lv)), shape(lv.Histogram, low, high, n), unit.Span(float64(l.At(50))), tail99(lv))
	}
	p.to(w)
}

// tail99 is the p99 of a level, if it has enough requests.
func tail99(lv *result.Level) string {
	if !result.Enough(99, lv.Client.Requests) {
		return "–"
	}
	return unit.Span(lv.Client.Latency.At(99))
}

// bounds are the lowest and the highest latency of all levels; 0 if there is none.
func bounds(levels []result.Level) (low, high int64) {
	for i := range levels {
		h, l := levels[i].Histogram, &levels[i].Client.Latency
		if h == nil || len(h.Buckets) == 0 || l.Min <= 0 {
			continue
		}
		if low == 0 || int64(l.Min) < low {
			low = int64(l.Min)
		}
		high = max(high, int64(l.Max))
	}
	return low, high
}

// shape draws the buckets of a histogram between two bounds.
func shape(h *result.Histogram, low, high int64, n int) string {
	counts := make([]float64, n)
	scale := float64(n) / math.Log(float64(max(high, low+1))/float64(low))
	for _, b := range h.Buckets {
		i := int(scale * math.Log(float64(b.UpToNs)/float64(low)))
		counts[min(max(i, 0), n-1)] += float64(b.Count)
	}
	most := 0.0
	for _, c := range counts {
		most = max(most, c)
	}
	var s strings.Builder
	for _, c := range counts {
		s.WriteRune(bars[int(math.Ceil(c/most*float64(len(bars)-1)))])
	}
	return s.String()
}
