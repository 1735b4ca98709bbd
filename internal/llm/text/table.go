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
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// hidden are totals that only -v shows.
var hidden = []string{
	"min_request_timestamp", "max_response_timestamp", "completed_request_count", "total_output_tokens", "total_usage_prompt_tokens",
	"total_usage_completion_tokens", "total_usage_total_tokens", "total_usage_prompt_cache_read_tokens", "usage_discrepancy_count",
}

// columnsOf are the percentiles of a table, as far as its metrics have enough samples.
var columnsOf = []float64{50, 90, 95, 99, 99.9}

// spare are columns in the order in which a narrow terminal omits them. The highest percentile up to p99 stays.
var spare = []string{"p99.9", "p95", "std", "min", "p90", "max"}

// Metrics prints distributions as rows, and totals under them. A table wider than width omits columns; a verbose one continues them
// in another table.
func Metrics(list []result.Metric, verbose bool, width int) string {
	shown := stated(list, verbose)
	head := []string{"Metric", "avg", "min", "max"}
	for _, p := range shown {
		head = append(head, percentileName(p))
	}
	rows := [][]string{append(head, "std")}
	var totals [][]string
	for _, m := range list {
		switch {
		case !verbose && (!isPlain(&m) || allZero(&m) || m.Tag == "time_to_first_output_token" && !hasReasoning(list)):
		case !m.Distributed():
			totals = append(totals, totalRow(&m, verbose))
		default:
			rows = append(rows, distRow(&m, shown, verbose)...)
		}
	}
	var b strings.Builder
	if len(rows) > 1 {
		for i, part := range fit(rows, shown, verbose, width) {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(columns.Text(part, 1))
		}
		b.WriteString(needs(list))
	}
	b.WriteString(totalsText(totals))
	return b.String()
}

// stated are the percentiles for which a metric of the list has enough samples. A table that is not verbose is about requests: a metric
// with a sample for each event adds no column.
func stated(list []result.Metric, verbose bool) []float64 {
	n := samples(list, verbose)
	return slices.DeleteFunc(slices.Clone(columnsOf), func(p float64) bool { return !result.Enough(p, n) })
}

// samples is the largest number of samples of a metric; events count only if all metrics do.
func samples(list []result.Metric, events bool) (n uint64) {
	for i := range list {
		if list[i].Distributed() && (events || perRequest(list[i].Tag)) {
			n = max(n, list[i].Count)
		}
	}
	return n
}

// perRequest tells whether a metric has at most one sample for a request.
func perRequest(tag string) bool {
	return slices.ContainsFunc(metric.IDs(), func(id metric.ID) bool { return id.Definition().Tag == tag })
}

// needs says how many requests the percentiles need that the requests of a level are too few for; empty if that is none up to p99.
func needs(list []result.Metric) string {
	n := samples(list, false)
	var parts []string
	for _, p := range columnsOf {
		if p <= 99 && !result.Enough(p, n) {
			parts = append(parts, fmt.Sprintf("%s needs %d", percentileName(p), result.Fewest(p)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("  %s requests; this level has %d\n", strings.Join(parts, ", "), n)
}

func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'g', -1, 64) }

// fit returns the table as tables that fit width.
func fit(rows [][]string, shown []float64, verbose bool, width int) [][][]string {
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
	keep := "p50"
	for _, p := range shown {
		if p <= 99 {
			keep = percentileName(p)
		}
	}
	return [][][]string{columns.Fit(rows, slices.DeleteFunc(slices.Clone(spare), func(head string) bool { return head == keep }), width)}
}

// longName is the length from which a narrow table continues the name of a metric in another line.
const longName = 24

// breakNames continues long names in the next row.
func breakNames(rows [][]string) [][]string {
	var out [][]string
	for _, row := range rows {
		if strings.HasPrefix(row[0], " ") {
			out = append(out, row)
			continue
		}
		name, unit, _ := strings.Cut(row[0], " (")
		parts := option.Fold(name, longName)
		if last := &parts[len(parts)-1]; unit != "" && utf8.RuneCountInString(*last+unit) <= longName-len(" (") {
			*last += " (" + unit
		} else if unit != "" {
			parts = append(parts, "("+unit)
		}
		out = append(out, append([]string{parts[0]}, row[1:]...))
		for _, rest := range parts[1:] {
			below := make([]string, len(row))
			below[0] = "  " + rest
			out = append(out, below)
		}
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
	text, of := value(m, m.Avg), plainUnit(m.Unit)
	if m.Avg == math.Trunc(m.Avg) && (m.Unit == "requests" || m.Unit == "tokens" || m.Unit == "ns") {
		text = strings.TrimSuffix(text, ".00")
	}
	if of == "" { // the value has it
		text, of, _ = strings.Cut(text, " ")
	}
	if iv := m.Interval; iv != nil && intervals {
		of += " (" + rangeText(m, iv) + ")"
	}
	return []string{m.Name, text, of}
}

// allZero reports whether a metric is 0 for every request or in total.
func allZero(m *result.Metric) bool {
	return m.Avg == 0 && (!m.Distributed() || m.Max == 0) && m.Tag != "request_error_rate" && m.Tag != "request_count" && m.Tag != "goodput" &&
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
	if !m.Distributed() {
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
func distRow(m *result.Metric, shown []float64, intervals bool) [][]string {
	name := m.Name
	if of := plainUnit(m.Unit); of != "" {
		name += " (" + of + ")"
	}
	row := []string{name, value(m, m.Avg), value(m, m.Min), value(m, m.Max)}
	ranges := []string{interval, "", "", ""}
	if iv := m.Interval; iv != nil {
		ranges[1] = rangeText(m, iv)
	}
	for _, p := range shown {
		row = append(row, percentile(m, p))
		text := ""
		if iv := m.Point(p).Interval; iv != nil {
			text = rangeText(m, iv)
		}
		ranges = append(ranges, text)
	}
	row = append(row, value(m, m.Std))
	if m.Unit == "tokens" && !slices.ContainsFunc(row[1:], func(s string) bool { return s != columns.Unknown && !strings.HasSuffix(s, ".00") }) {
		for i := range row[1:] {
			row[i+1] = strings.TrimSuffix(row[i+1], ".00")
		}
	}
	if !intervals || m.Interval == nil && !slices.ContainsFunc(m.Quantiles, func(q result.Quantile) bool { return q.Interval != nil }) {
		return [][]string{row}
	}
	return [][]string{row, append(ranges, "")}
}

// rangeText is an interval in words.
func rangeText(m *result.Metric, iv *result.Interval) string {
	if iv.Open {
		return "at least " + value(m, iv.Low)
	}
	return value(m, iv.Low) + "–" + value(m, iv.High)
}

// percentile formats a percentile; it is a bound if requests canceled at the end leave it open, and a dash if it has too few samples.
func percentile(m *result.Metric, p float64) string {
	i := slices.IndexFunc(m.Quantiles, func(q result.Quantile) bool { return q.P == p })
	switch {
	case i < 0:
		return value(m, 0)
	case !result.Enough(p, m.Count):
		return columns.Unknown
	}
	if m.Quantiles[i].AtLeast {
		return "≥ " + value(m, m.Quantiles[i].V)
	}
	return value(m, m.Quantiles[i].V)
}

// summed are the columns of the table of levels: a metric and its statistic. The statistic tail is the highest percentile that all levels
// have enough requests for.
var summed = []struct{ head, tag, stat string }{
	{"requests/s", "request_throughput", "avg"},
	{"output tokens/s", "output_token_throughput", "avg"},
	{"TTFT p50", "time_to_first_token", "p50"},
	{"TTFT ", "time_to_first_token", "tail"},
	{"ITL avg", "inter_token_latency", "avg"},
	{"latency p50", "request_latency", "p50"},
	{"latency ", "request_latency", "tail"},
	{"goodput/s", "goodput", "avg"},
	{"errors %", "request_error_rate", "avg"},
}

// Levels prints a table of the levels of a run. TTFT is the time to first token, ITL the inter token latency.
func Levels(levels []result.Level, width int) string {
	rows := [][]string{{"Level"}}
	for i := range levels {
		rows = append(rows, []string{measure.LevelName(&levels[i])})
	}
	tail := tailOf(levels)
	for _, c := range summed {
		p := tail
		if c.stat == "tail" {
			c.head += percentileName(tail)
		} else {
			p, _ = strconv.ParseFloat(strings.TrimPrefix(c.stat, "p"), 64) // 0 for the average
		}
		column := []string{c.head}
		known := false
		for i := range levels {
			m, ok := metric.Find(levels[i].Metrics, c.tag)
			known = known || ok
			switch {
			case !ok:
				column = append(column, "-")
			case p > 0 && m.Distributed():
				column = append(column, percentile(&m, p))
			default:
				column = append(column, value(&m, m.Avg))
			}
		}
		if !known || c.stat == "tail" && tail == 50 {
			continue
		}
		for i := range rows {
			rows[i] = append(rows[i], column[i])
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, "\nAll levels")
	b.WriteString(columns.Text(columns.Fit(rows, []string{"goodput/s", "latency p50", "TTFT p50", "ITL avg", "errors %"}, width), 1))
	return b.String()
}

// tailOf is the highest percentile up to p99 that all levels with requests have enough of them for.
func tailOf(levels []result.Level) float64 {
	tail := 99.0
	for i := range levels {
		n := levels[i].Client.Requests
		for _, lower := range []float64{95, 90, 50} {
			if n > 0 && !result.Enough(tail, n) && lower < tail {
				tail = lower
			}
		}
	}
	return tail
}

// value formats a value of a metric; a time has its unit.
func value(m *result.Metric, v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return number(v)
	case m.Unit == "ms":
		return unit.Span(v * 1e6)
	case m.Unit == "sec":
		return unit.Span(v * 1e9)
	}
	return number(v)
}

// plainUnit is the unit behind a name or a number; times have none, because their values have it.
func plainUnit(name string) string {
	if name == "ms" || name == "sec" {
		return ""
	}
	return strings.ReplaceAll(name, "/sec", "/s")
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
	return unit.Thousands(strconv.FormatFloat(v, 'f', 2, 64))
}
