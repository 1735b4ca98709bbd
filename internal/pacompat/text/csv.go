package text

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// table is a CSV file under construction. Its cells never need quotes.
type table struct {
	buf   bytes.Buffer
	begun bool // a cell was written to this row
}

func (t *table) cell(s ...string) {
	for _, v := range s {
		if t.begun {
			t.buf.WriteByte(',')
		}
		t.buf.WriteString(v)
		t.begun = true
	}
}

func (t *table) num(v ...uint64) {
	for _, n := range v {
		t.cell(strconv.FormatUint(n, 10))
	}
}

func (t *table) end() {
	t.buf.WriteByte('\n')
	t.begun = false
}

// WriteCSV writes the latency report: a row per level, by ascending throughput. It returns the remarks to print, and
// writes nothing when there is no level to report.
func WriteCSV(w io.Writer, p *plan.Plan, m *service.Model, levels []result.Level) (remarks []string, err error) {
	rows := byThroughput(p, levels)
	if len(rows) == 0 {
		return nil, nil
	}
	var t table
	csvHeader(&t, p, m)
	for i := range rows {
		if csvRow(&t, p, m, &rows[i]) {
			remarks = append(remarks, AccountedTime)
		}
	}
	if _, err := w.Write(t.buf.Bytes()); err != nil {
		return remarks, fmt.Errorf("write CSV: %w", err)
	}
	return remarks, nil
}

func byThroughput(p *plan.Plan, levels []result.Level) []result.Level {
	rows := Reported(p, levels)
	slices.SortStableFunc(rows, func(a, b result.Level) int {
		return cmp.Compare(a.Client.InferPerSec, b.Client.InferPerSec)
	})
	return rows
}

func csvHeader(t *table, p *plan.Plan, m *service.Model) {
	levelHeader(t, p)
	if decoupled(m) {
		t.cell("Response Throughput")
	}
	t.cell("Client Send")
	if serverStats(m) {
		serverHeader(t, m)
	}
	t.cell("Client Recv")
	for _, n := range percentiles(p) {
		t.cell("p" + strconv.Itoa(n) + " latency")
	}
	if p.Output.VerboseCSV {
		if p.Measure.Percentile == 0 {
			t.cell("Avg latency")
		}
		t.cell("request/response", "response wait")
		if p.Target.Metrics.Collect {
			t.cell("Avg GPU Utilization", "Avg GPU Power Usage", "Max GPU Memory Usage", "Total GPU Memory")
		}
	}
	if !p.Policies.BareReport {
		if p.Output.VerboseCSV {
			t.cell("Send lag p50", "Send lag p99", "Send lag max", "Asked rate", "Achieved rate", "Asked in flight", "Achieved in flight",
				"CPU cores", "CPU per request", "Machine busy", "Longest GC pause", "Longest scheduler pause", "Dropped", "Measurement error p50", "Measurement error p99")
		}
		t.cell("Verdict")
	}
	t.end()
}

// healthCells writes the client health of redline profile.
func healthCells(t *table, h *result.Health) {
	t.num(us(h.LagP50Ns), us(h.LagP99Ns), us(h.LagMaxNs))
	t.cell(number(h.AskedRate), number(h.AchievedRate), number(h.AskedInFlight), number(h.AchievedInFlight), number(h.CPUCores))
	t.cell(number(float64(h.CPUPerRequestNs)/1000), number(h.MachineShare))
	t.num(us(h.GCPauseMaxNs), us(h.SchedDelayMaxNs), h.Dropped)
	if h.Error == nil {
		t.cell("", "")
		return
	}
	t.num(us(h.Error.P50Ns), us(h.Error.P99Ns))
}

// levelVerdict is the verdict on one level, for the last column of redline profile.
func levelVerdict(l *result.Level) string {
	switch {
	case l.ServerFailed:
		return string(result.ServerFailed)
	case l.ClientLimited:
		return string(result.ClientLimited)
	case l.TooShort:
		return string(result.TooShort)
	case !l.Stable:
		return string(result.Unstable)
	}
	return string(result.Valid)
}

func levelHeader(t *table, p *plan.Plan) {
	if p.Load.Mode == plan.Concurrency {
		t.cell("Concurrency")
	} else {
		t.cell("Request Rate")
	}
	t.cell("Inferences/Second")
}

func serverHeader(t *table, m *service.Model) {
	t.cell("Network+Server Send/Recv", "Server Queue", "Server Compute Input", "Server Compute Infer", "Server Compute Output")
	if m.Cache {
		t.cell("Server Cache Hit", "Server Cache Miss")
	}
}

// csvRow reports whether the server accounts for more time than the client waited.
func csvRow(t *table, p *plan.Plan, m *service.Model, l *result.Level) (short bool) {
	c := &l.Client
	t.cell(levelValue(p, l), rate(c.InferPerSec))
	if decoupled(m) {
		t.cell(rate(c.ResponsePerSec))
		if !kind.Of(p.Target.Kind).InProcess() { // responses arrive while the server still computes: receiving is not a separate part
			whole := *c
			whole.CallNs, whole.SendNs, whole.RecvNs = 0, 0, 0
			c = &whole
		}
	}
	t.num(us(c.SendNs))
	if serverStats(m) {
		var s service.ModelStats
		if l.Server != nil {
			s = l.Server.Stats
		}
		wait := less(uint64(max(c.Latency.Avg, 0)), c.SendNs+c.RecvNs)
		short = serverCells(t, m, &s, wait)
	}
	t.num(us(c.RecvNs))
	for _, n := range percentiles(p) {
		t.num(us(c.Latency.At(float64(n))))
	}
	if p.Output.VerboseCSV {
		if p.Measure.Percentile == 0 {
			t.num(us(c.Latency.Avg))
		}
		parts := callParts(c)
		t.num(parts.send+parts.recv, parts.wait)
		if p.Target.Metrics.Collect {
			gpuCells(t, l.GPU)
		}
	}
	if !p.Policies.BareReport {
		if p.Output.VerboseCSV {
			healthCells(t, &l.Health)
		}
		t.cell(levelVerdict(l))
	}
	t.end()
	return short
}

// serverCells writes the parts of a request's time. The rest of total, after the parts that the server counts, is the network's.
func serverCells(t *table, m *service.Model, s *service.ModelStats, total uint64) (short bool) {
	compute := service.Tally{
		Count: s.ComputeInput.Count,
		Ns:    s.ComputeInput.Ns + s.ComputeInfer.Ns + s.ComputeOutput.Ns,
	}
	rest := less(total, s.Queue.Avg()+compute.Avg()+s.CacheHit.Avg()+s.CacheMiss.Avg())
	t.num(us(rest), us(s.Queue.Avg()), us(s.ComputeInput.Avg()), us(s.ComputeInfer.Avg()), us(s.ComputeOutput.Avg()))
	if m.Cache {
		t.num(us(s.CacheHit.Avg()), us(s.CacheMiss.Avg()))
	}
	return rest == 0
}

func gpuCells(t *table, g *result.GPU) {
	if g == nil {
		g = &result.GPU{}
	}
	asInt := func(v uint64) string { return strconv.FormatUint(v, 10) }
	t.cell(gpuCell(g.Utilization, number), gpuCell(g.PowerWatts, number), gpuCell(g.MemoryUsed, asInt), gpuCell(g.MemoryTotal, asInt))
}

func gpuCell[V any](byID map[string]V, form func(V) string) string {
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		b.WriteString(id + ":" + form(byID[id]) + ";")
	}
	return b.String()
}
