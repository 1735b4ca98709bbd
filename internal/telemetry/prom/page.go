package prom

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/redline-bench/redline/internal/telemetry"
)

// Serve answers a scrape: in protobuf, which has native histograms, if the scraper takes it, else as text.
func Serve(w http.ResponseWriter, r *http.Request, list []*dto.MetricFamily) {
	if strings.Contains(r.Header.Get("Accept"), "application/vnd.google.protobuf") {
		w.Header().Set("Content-Type", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited")
		for _, f := range list {
			if _, err := protodelim.MarshalTo(w, f); err != nil {
				return // the scraper has gone
			}
		}
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	WriteText(w, list)
}

// WriteText writes the text format. Errors mean that the reader has gone.
func WriteText(w io.Writer, list []*dto.MetricFamily) {
	for _, f := range list {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", f.GetName(), f.GetHelp(), f.GetName(), strings.ToLower(f.GetType().String()))
		for _, m := range f.Metric {
			labels := labelText(m.Label)
			switch {
			case m.Counter != nil:
				line(w, f.GetName(), labels, m.Counter.GetValue())
			case m.Gauge != nil:
				line(w, f.GetName(), labels, m.Gauge.GetValue())
			case m.Histogram != nil:
				classic(w, f.GetName(), labels, m.Histogram)
			}
		}
	}
}

func line(w io.Writer, name, labels string, v float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(w, "%s%s %s\n", name, labels, strconv.FormatFloat(v, 'g', -1, 64))
}

// The doublings of a histogram as text end at 2^-17 s (8 µs) to 2^9 s (512 s). They do not depend on the values: a bucket that
// appeared in the middle of a run would have no rate.
const (
	lowestPower  = -17
	highestPower = 9
)

// classic writes a native histogram with one bucket per doubling.
func classic(w io.Writer, name, labels string, h *dto.Histogram) {
	sums := map[int]uint64{} // by the power of two at which the doubling ends
	at, count, k := 0, int64(0), 0
	for _, span := range h.PositiveSpan {
		at += int(span.GetOffset())
		for range span.GetLength() {
			count += h.PositiveDelta[k]
			k++
			power := int(math.Ceil(float64(at) / (1 << telemetry.Scale)))
			sums[max(power, lowestPower)] += uint64(count)
			at++
		}
	}
	comma := labels
	if comma != "" {
		comma += ","
	}
	total := h.GetZeroCount()
	for p := lowestPower; p <= highestPower; p++ {
		total += sums[p]
		line(w, name+"_bucket", comma+`le="`+strconv.FormatFloat(math.Exp2(float64(p)), 'g', -1, 64)+`"`, float64(total))
	}
	line(w, name+"_bucket", comma+`le="+Inf"`, float64(h.GetSampleCount()))
	line(w, name+"_sum", labels, h.GetSampleSum())
	line(w, name+"_count", labels, float64(h.GetSampleCount()))
}

func labelText(list []*dto.LabelPair) string {
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	for i, l := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.GetName() + `="` + escape.Replace(l.GetValue()) + `"`)
	}
	return b.String()
}
