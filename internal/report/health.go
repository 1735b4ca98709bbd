package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/unit"
)

// Health writes the lines under a level: its problems, its failures, in open loop its latencies from due time and send time,
// and the client health.
func Health(w io.Writer, l *result.Level, s Style) {
	p := page{Style: s}
	writeProblems(&p, l)
	failures(&p, l)
	latencies(&p, l)
	if _, ended := measure.Counts(l); ended > 0 && l.Health != (result.Health{}) { // else the client did nothing that could be measured
		client(&p, l)
	}
	workers(&p, l)
	serverMetrics(&p, l.ServerMetrics)
	p.to(w)
}

// writeProblems writes the problems of a level.
func writeProblems(p *page, l *result.Level) {
	switch {
	case l.Unfinished:
		p.linef("  %s %s", p.paint(yellow, "Unfinished:"), cleantext.Line(cmp.Or(l.Reason, "the run ended during this level")))
	case !l.Stable:
		p.linef("  %s %s", p.paint(yellow, "Unstable:"), cleantext.Line(cmp.Or(l.Reason, "the windows do not agree")))
	}
	if l.LatencyUnstable {
		p.linef("  %s only the throughput is stable; a lower load may make the latency stable too", p.paint(yellow, "Latency unstable:"))
	}
	if n := l.Client.Unanswered; n > 0 {
		p.linef("  %s %d of %d requests ended without one; their latency is the time until the server ended them",
			p.paint(yellow, "No response:"), n, l.Client.Requests)
	}
	if n := l.Client.Resent; n > 0 {
		p.linef("  %s %d of %d requests: the server left their connection or refused them before a response",
			p.paint(yellow, "Sent again:"), n, l.Client.Requests+l.Client.Failed)
	}
	switch n := l.Client.Unfinished; n {
	case 0:
	case 1:
		p.linef("  In flight at the end: 1 request, for %s; its latency is unknown", unit.Span(float64(l.Client.OldestNs)))
	default:
		p.linef("  In flight at the end: %d requests, the oldest for %s; their latency is unknown", n, unit.Span(float64(l.Client.OldestNs)))
	}
	if l.Hold != nil {
		p.linef("  %s %s", p.paint(yellow, "Held by the server:"), l.Hold)
	}
	if l.OverLimit {
		p.linef("  %s the latency reached the limit of -l", p.paint(yellow, "Over the limit:"))
	}
}

func failures(p *page, l *result.Level) {
	failed, ended := measure.Counts(l)
	if failed == 0 {
		return
	}
	width := 0
	for _, f := range l.Failures {
		width = max(width, len(f.Class))
	}
	p.linef("  %s %d of %d requests (%.3g %%)", p.paint(red, "Failures:"), failed, ended, percent(float64(failed), float64(ended)))
	digits := len(strconv.FormatUint(failed, 10))
	for _, f := range l.Failures {
		p.linef("    %-*s  %*d  %s", width, f.Class, digits, f.Count, cleantext.Line(f.Text))
	}
}

// latencies shows the latencies from due time and send time, and the time to the first response of streamed responses. In
// closed loop both latencies are equal, and the report above has them.
func latencies(p *page, l *result.Level) {
	type row struct {
		name string
		lat  *result.Metric
	}
	var rows []row
	c := &l.Client
	if l.Mode.Scheduled() {
		rows = append(rows, row{"from schedule", &c.Due}, row{"from send", &c.Sent})
	}
	if c.First != nil {
		if !l.Mode.Scheduled() {
			rows = append(rows, row{"last response", &c.Latency})
		}
		rows = append(rows, row{"first response", c.First})
	}
	if len(rows) == 0 {
		return
	}
	table := [][]string{{"Latency:", "avg"}}
	for _, q := range rows[0].lat.Quantiles {
		table[0] = append(table[0], "p"+strconv.FormatFloat(q.P, 'g', -1, 64))
	}
	table[0] = append(table[0], "max")
	for _, r := range rows {
		cells := []string{"  " + r.name, unit.Span(r.lat.Avg)}
		for _, q := range rows[0].lat.Quantiles {
			if !result.Enough(q.P, c.Requests) {
				cells = append(cells, columns.Unknown)
				continue
			}
			cells = append(cells, atLeast(r.lat.Point(q.P)))
		}
		table = append(table, append(cells, unit.Span(r.lat.Max)))
	}
	p.table(table, 1, spare)
}

// spare are percentiles in the order in which a narrow table omits them.
var spare = []string{"p1", "p5", "p10", "p25", "p75", "p99.99", "p95", "p99.9", "p90"}

// atLeast is a percentile; one that requests in flight at the end leave open is a bound.
func atLeast(q result.Quantile) string {
	text := unit.Span(q.V)
	if q.AtLeast {
		return "≥ " + text
	}
	return text
}

// Columns writes a table after an empty line: the first columns, left in number, to the left, the others to the right. A narrow
// table omits columns of the headings spare, in this order.
func Columns(w io.Writer, table [][]string, left int, spare []string, s Style) {
	p := page{Style: s}
	p.linef("")
	p.table(table, left, spare)
	p.to(w)
}

// table writes a table: the first columns, left in number, to the left, the others to the right.
func (p *page) table(table [][]string, left int, spare []string) {
	table = columns.Fit(table, spare, p.TableWidth())
	head := slices.Clone(table[0])
	head[0] = p.paint(bold, head[0])
	p.buf.WriteString(columns.Text(slices.Concat([][]string{head}, table[1:]), left))
}

// inFlight says how many requests were in flight, and how many should have been. If slots pause, or run out of requests, fewer are
// possible than the concurrency.
func inFlight(l *result.Level) string {
	h := &l.Health
	achieved := unit.Digits(h.AchievedInFlight, 3)
	switch asked := float64(l.Concurrency); {
	case h.AskedInFlight <= 0:
		return achieved + " on average"
	case asked == 0 || l.Mode.Scheduled() || len(l.Stages) > 0:
		return fmt.Sprintf("%s on average (%.3g %% of what the load asked for)", achieved, percent(h.AchievedInFlight, h.AskedInFlight))
	case h.AskedInFlight < 0.99*asked:
		return fmt.Sprintf("%s of %d requested (%.3g %% outside pauses and the end of the level)", achieved, l.Concurrency, percent(h.AchievedInFlight, h.AskedInFlight))
	default:
		return fmt.Sprintf("%s of %d requested (%.3g %%)", achieved, l.Concurrency, percent(h.AchievedInFlight, asked))
	}
}

// client writes the client health.
func client(p *page, l *result.Level) {
	h := &l.Health
	p.linef("  %s", p.paint(bold, "Client health:"))
	if l.Mode.Scheduled() {
		p99 := ""
		if result.Enough(99, l.Client.Requests) {
			p99 = "p99 " + unit.Span(float64(h.LagP99Ns)) + ", "
		}
		p.linef("    Send lag: p50 %s, %smax %s", unit.Span(float64(h.LagP50Ns)), p99, unit.Span(float64(h.LagMaxNs)))
	}
	if h.AskedRate > 0 {
		p.linef("    Request rate: sent %s of %s per sec that were due (%.4g %%)", unit.Digits(h.AchievedRate, 6), unit.Digits(h.AskedRate, 6), percent(h.AchievedRate, h.AskedRate))
	}
	p.linef("    In flight: %s", inFlight(l))
	switch {
	case h.Dropped > 0:
		p.linef("    %s %d requests were due and never sent", p.paint(yellow, "Dropped:"), h.Dropped)
	case l.Mode.Scheduled():
		p.linef("    Dropped: none")
	}
	p.linef("    CPU: %.2f cores, %s per request; the machine was %.0f %% busy", h.CPUCores, unit.Span(float64(h.CPUPerRequestNs)), h.MachineShare*100)
	if h.MoreConnections > 0 {
		p.linef("    %s %d, the busiest worked for %.0f %% of the time and limits the throughput; --connections %d can do about %.2g times as much",
			p.paint(yellow, "Connections:"), h.Connections, h.ConnectionBusy*100, h.MoreConnections, h.ConnectionGain())
	}
	standstill := ""
	if h.StandstillNs > 0 {
		standstill = fmt.Sprintf(", %s the whole process", unit.Span(float64(h.StandstillNs)))
	}
	p.linef("    Longest pause: %s garbage collection, %s scheduler%s", unit.Span(float64(h.GCPauseMaxNs)), unit.Span(float64(h.SchedDelayMaxNs)), standstill)
	if r := h.ReadLag; r != nil {
		p99 := ""
		if result.Enough(99, l.Client.Requests) {
			p99 = "p99 " + unit.Span(float64(r.P99Ns)) + ", "
		}
		p.linef("    Read lag: p50 %s, %smax %s; not part of any latency, because responses have their arrival time", unit.Span(float64(r.P50Ns)), p99, unit.Span(float64(r.MaxNs)))
	}
	if h.Times == "read" {
		p.linef("    Response times: when the client read them; arrival times are unknown")
	}
	switch {
	case h.Error != nil:
		p.linef("%s", strings.TrimSuffix(MeasurementError("    ", "Measurement error", h.Error), "\n"))
	case h.ErrorUnknown != "":
		p.linef("    Measurement error: not measured: %s", h.ErrorUnknown)
	case h.Times != "" && !h.ErrorLater:
		p.linef("    Measurement error: not calibrated; add --calibrate")
	}
	if l.Client.Requests > 0 && l.Client.Latency.Approximate {
		p.linef("    Percentiles are within %g %%: there are too many requests to sort them", 100*stats.MaxError)
	}
}
