// Package text writes the console report of a language-model run: tables of metrics and levels, and remarks.
package text

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/result"
)

// hidden are totals that only -v shows.
var hidden = []string{
	"min_request_timestamp", "max_response_timestamp", "completed_request_count", "total_output_tokens", "total_usage_prompt_tokens",
	"total_usage_completion_tokens", "total_usage_total_tokens", "total_usage_prompt_cache_read_tokens", "usage_discrepancy_count",
}

// columnsOf are the percentiles of the table.
var columnsOf = []float64{50, 90, 95, 99, 99.9}

// spare are columns in the order in which a narrow terminal omits them.
var spare = []string{"p99.9", "p95", "std", "min", "p90", "max"}

// Metrics prints distributions as rows, and totals under them. A table wider than width omits columns; a verbose one continues them
// in another table.
func Metrics(list []result.Metric, verbose bool, width int) string {
	head := []string{"Metric", "avg", "min", "max"}
	for _, p := range columnsOf {
		head = append(head, "p"+strconv.FormatFloat(p, 'g', -1, 64))
	}
	rows := [][]string{append(head, "std")}
	var totals [][]string
	for _, m := range list {
		switch {
		case !verbose && (!isPlain(&m) || allZero(&m) || m.Tag == "time_to_first_output_token" && !hasReasoning(list)):
		case m.Dist == nil:
			totals = append(totals, totalRow(&m, verbose))
		default:
			rows = append(rows, distRow(&m, verbose)...)
		}
	}
	var b strings.Builder
	if len(rows) > 1 {
		for i, part := range fit(rows, verbose, width) {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(columns.Text(part, 1))
		}
		if text := fmt.Sprint(rows); verbose && strings.Contains(text, columns.Unknown) {
			fmt.Fprintf(&b, "  –: too few samples; p90 needs %d, p99 %d, p99.9 %d\n", result.Fewest(90), result.Fewest(99), result.Fewest(99.9))
		}
	}
	b.WriteString(totalsText(totals))
	return b.String()
}

// fit returns the table as tables that fit width.
func fit(rows [][]string, verbose bool, width int) [][][]string {
	if columns.Fits(rows, width) {
		return [][][]string{rows}
	}
	rows = breakNames(rows)
	if verbose {
		parts := columns.Split(rows, 1, width)
		for i := range parts {
			parts[i] = slices.DeleteFunc(parts[i], func(row []string) bool { return row[0] == interval && strings.Join(row[1:], "") == "" })
		}
		return parts
	}
	return [][][]string{columns.Fit(rows, spare, width)}
}

// longName is the length above which a narrow table has the unit of a metric in a line of its own.
const longName = 34

// breakNames moves the unit of metrics with long names into the next row.
func breakNames(rows [][]string) [][]string {
	var out [][]string
	for _, row := range rows {
		name, unit, ok := strings.Cut(row[0], " (")
		if !ok || utf8.RuneCountInString(row[0]) <= longName {
			out = append(out, row)
			continue
		}
		below := make([]string, len(row))
		below[0] = "  (" + unit
		out = append(out, append([]string{name}, row[1:]...), below)
	}
	return out
}

// totalsText writes totals with their units: names and units to the left, numbers to the right.
func totalsText(totals [][]string) string {
	digits := 0
	for _, row := range totals {
		digits = max(digits, len(row[1]))
	}
	rows := make([][]string, len(totals))
	for i, row := range totals {
		rows[i] = []string{row[0], fmt.Sprintf("%*s %s", digits, row[1], row[2])}
	}
	if len(rows) == 0 {
		return ""
	}
	return columns.Text(rows, 2)
}

// totalRow returns the row of a total: name, number and unit.
func totalRow(m *result.Metric, intervals bool) []string {
	text := number(m.Avg)
	if m.Avg == math.Trunc(m.Avg) && (m.Unit == "requests" || m.Unit == "tokens" || m.Unit == "ns") {
		text = strings.TrimSuffix(text, ".00")
	}
	unit := m.Unit
	if iv := m.Interval; iv != nil && intervals {
		unit += " (" + rangeText(iv) + ")"
	}
	return []string{m.Name, text, unit}
}

// allZero reports whether a metric is 0 for every request or in total.
func allZero(m *result.Metric) bool {
	return m.Avg == 0 && (m.Dist == nil || m.Dist.Max == 0) && m.Tag != "request_error_rate" && m.Tag != "request_count" && m.Tag != "goodput" &&
		m.Tag != "good_request_count"
}

// hasReasoning reports whether responses began with reasoning. Otherwise the first token is the first output token.
func hasReasoning(list []result.Metric) bool {
	a, _ := metric.Find(list, "time_to_first_token")
	b, ok := metric.Find(list, "time_to_first_output_token")
	return ok && a.Avg != b.Avg
}

// isPlain reports whether a metric is shown without -v.
func isPlain(m *result.Metric) bool {
	if m.Dist == nil {
		return !slices.Contains(hidden, m.Tag)
	}
	for _, id := range metric.IDs() {
		if d := id.Definition(); d.Tag == m.Tag {
			return d.Plain
		}
	}
	return m.Tag == "inter_chunk_latency"
}

// interval is the name of a row with the confidence intervals of the metric above it.
const interval = "  interval"

// distRow is a metric as a row, and its intervals as another.
func distRow(m *result.Metric, intervals bool) [][]string {
	row := []string{m.Name + " (" + m.Unit + ")", number(m.Avg), number(m.Dist.Min), number(m.Dist.Max)}
	ranges := []string{interval, "", "", ""}
	if iv := m.Interval; iv != nil {
		ranges[1] = rangeText(iv)
	}
	for _, p := range columnsOf {
		row = append(row, percentile(m.Dist, p))
		text := ""
		if iv, ok := m.Intervals["p"+strconv.FormatFloat(p, 'g', -1, 64)]; ok {
			text = rangeText(&iv)
		}
		ranges = append(ranges, text)
	}
	row = append(row, number(m.Dist.Std))
	if m.Unit == "tokens" && !slices.ContainsFunc(row[1:], func(s string) bool { return s != columns.Unknown && !strings.HasSuffix(s, ".00") }) {
		for i := range row[1:] {
			row[i+1] = strings.TrimSuffix(row[i+1], ".00")
		}
	}
	if m.Interval == nil && len(m.Intervals) == 0 || !intervals {
		return [][]string{row}
	}
	return [][]string{row, append(ranges, "")}
}

// rangeText is an interval in words.
func rangeText(iv *result.Interval) string {
	if iv.Open {
		return "at least " + number(iv.Low)
	}
	return number(iv.Low) + "–" + number(iv.High)
}

// percentile formats a percentile; it is a bound if requests canceled at the end leave it open, and a dash if it has too few samples.
func percentile(d *result.Dist, p float64) string {
	i := slices.IndexFunc(d.Percentiles, func(q result.Quantile) bool { return q.P == p })
	switch {
	case i < 0:
		return number(0)
	case !result.Enough(p, d.Count):
		return columns.Unknown
	}
	if d.Percentiles[i].AtLeast {
		return "≥ " + number(d.Percentiles[i].V)
	}
	return number(d.Percentiles[i].V)
}

// summed are the columns of the table of levels: a metric and its statistic.
var summed = []struct{ head, tag, stat string }{
	{"req/s", "request_throughput", "avg"},
	{"out tok/s", "output_token_throughput", "avg"},
	{"TTFT p50", "time_to_first_token", "p50"},
	{"TTFT p99", "time_to_first_token", "p99"},
	{"ITL avg", "inter_token_latency", "avg"},
	{"latency p50", "request_latency", "p50"},
	{"latency p99", "request_latency", "p99"},
	{"goodput/s", "goodput", "avg"},
	{"errors %", "request_error_rate", "avg"},
}

// Levels prints a table of the levels of a run, times in milliseconds.
func Levels(levels []result.Level, width int) string {
	rows := [][]string{{"Level"}}
	for i := range levels {
		rows = append(rows, []string{measure.LevelName(&levels[i])})
	}
	for _, c := range summed {
		column := []string{c.head}
		known := false
		for i := range levels {
			m, ok := metric.Find(levels[i].Metrics, c.tag)
			text := number(m.Avg)
			if c.stat != "avg" && m.Dist != nil {
				p, _ := strconv.ParseFloat(c.stat[1:], 64) // a constant
				text = percentile(m.Dist, p)
			}
			if known = known || ok; ok {
				column = append(column, text)
			} else {
				column = append(column, "-")
			}
		}
		if !known {
			continue
		}
		for i := range rows {
			rows[i] = append(rows[i], column[i])
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, "\nAll levels, times in ms")
	b.WriteString(columns.Text(columns.Fit(rows, []string{"goodput/s", "latency p50", "TTFT p50", "ITL avg", "errors %"}, width), 1))
	return b.String()
}

// number formats a value with two decimals and separated thousands.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(v, 'f', 2, 64)
	whole, frac, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + whole + "." + frac
}
