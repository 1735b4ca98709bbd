package prom

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
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
				writeClassic(w, f.GetName(), labels, m.Histogram)
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

// writeClassic writes a histogram as a series for each of its buckets, their sum and their count.
func writeClassic(w io.Writer, name, labels string, h *dto.Histogram) {
	comma := labels
	if comma != "" {
		comma += ","
	}
	for _, b := range classic(h) {
		line(w, name+"_bucket", comma+`le="`+b.le+`"`, float64(b.count))
	}
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
