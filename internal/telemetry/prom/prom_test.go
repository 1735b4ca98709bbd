package prom_test

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/telemetry"
	"github.com/redline-bench/redline/internal/telemetry/prom"
	"github.com/redline-bench/redline/internal/testkit"
)

// counted is a tally of 100 requests from 1 to 100 ms, and two failures.
func counted() *telemetry.Tally {
	tally, lv := telemetry.NewTally(), &result.Level{Mode: plan.Concurrency, Concurrency: 4}
	for i := range int64(100) {
		tally.Add(lv, false, &record.Record{End: (i + 1) * 1e6})
	}
	for range 2 {
		tally.Add(lv, false, &record.Record{Class: record.Timeout})
	}
	tally.InFlight(lv, 3)
	return tally
}

// scrape asks for a page of the tally.
func scrape(t *testing.T, accept string) (kind, body string) {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", accept)
	prom.Serve(w, r, prom.Families(counted().NewReader(), prom.Label{Name: "model", Value: `a"b`}))
	return w.Header().Get("Content-Type"), w.Body.String()
}

func TestTextPage(t *testing.T) {
	_, body := scrape(t, "text/plain")
	for _, want := range []string{
		`redline_requests_total{level="concurrency 4",model="a\"b",outcome="ok"} 100`,
		`redline_requests_total{level="concurrency 4",model="a\"b",outcome="timeout"} 2`,
		`redline_request_duration_seconds_bucket{level="concurrency 4",model="a\"b",le="0.0625"} 62`,
		`redline_request_duration_seconds_bucket{level="concurrency 4",model="a\"b",le="+Inf"} 100`,
		`redline_request_duration_seconds_bucket{level="concurrency 4",model="a\"b",le="7.62939453125e-06"} 0`,
		`redline_request_duration_seconds_bucket{level="concurrency 4",model="a\"b",le="512"} 100`,
		`redline_request_duration_seconds_count{level="concurrency 4",model="a\"b"} 100`,
		`redline_request_duration_seconds_sum{level="concurrency 4",model="a\"b"} 5.05`,
		`redline_in_flight{level="concurrency 4",model="a\"b"} 3`,
		"# TYPE redline_request_duration_seconds histogram",
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("%s is missing from\n%s", want, body)
		}
	}
}

// The buckets of the native histogram hold every request, each bucket those between its edges.
func TestNativeHistogram(t *testing.T) {
	kind, body := scrape(t, "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,text/plain;q=0.3")
	if !strings.HasPrefix(kind, "application/vnd.google.protobuf") {
		t.Fatalf("the page is %s", kind)
	}
	for in := bufio.NewReader(strings.NewReader(body)); ; {
		f := &dto.MetricFamily{}
		if err := protodelim.UnmarshalFrom(in, f); err != nil {
			t.Fatalf("no histogram: %v", err)
		}
		if f.GetName() != "redline_request_duration_seconds" {
			continue
		}
		h := f.Metric[0].Histogram
		at, count, seen, k := 0, int64(0), int64(0), 0
		for _, s := range h.PositiveSpan {
			at += int(s.GetOffset())
			for range s.GetLength() {
				count += h.PositiveDelta[k]
				k++
				seen += count
				edge := math.Exp2(float64(at) / math.Exp2(float64(h.GetSchema())))
				if want := math.Floor(edge * 1000 * 1.001); float64(seen) > want || float64(seen) < want-1 {
					t.Fatalf("%d requests up to %v s, want %v", seen, edge, want)
				}
				at++
			}
		}
		if h.GetSampleCount() != 100 || seen != 100 || h.GetSchema() != telemetry.Scale {
			t.Errorf("%d requests, %d in buckets", h.GetSampleCount(), seen)
		}
		return
	}
}

// The last message has all totals; refusals are counted, and the password is in no text.
func TestRemoteWrite(t *testing.T) {
	got := make(chan string, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		plain, err := snappy.Decode(nil, body)
		if user, password, _ := r.BasicAuth(); err != nil || user != "me" || password != "s3cret" || r.Header.Get("Content-Encoding") != "snappy" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		got <- string(plain)
	}))
	defer srv.Close()
	send := func(address string) result.Sent {
		t.Helper()
		tally := counted().NewReader()
		w, err := prom.OpenRemoteWriter(t.Context(), address, prom.FormsOf("both"), func() []*dto.MetricFamily { return prom.Families(tally) })
		if err != nil {
			t.Fatal(err)
		}
		return w.Close(t.Context())
	}
	if sent := send("http://me:s3cret@" + strings.TrimPrefix(srv.URL, "http://")); sent.Lost() != "" || sent.Sends == 0 {
		t.Errorf("%+v", sent)
	}
	if body := <-got; !strings.Contains(body, "redline_request_duration_seconds") || !strings.Contains(body, "__name__") {
		t.Errorf("the message is %q", body)
	}
	for _, address := range []string{"http://me:wr0ng@" + strings.TrimPrefix(srv.URL, "http://"), "http://me:wr0ng@" + testkit.Port(t)} {
		if sent := send(address); sent.Complete || sent.Failed == 0 || !strings.Contains(sent.Lost(), "are not complete") || strings.Contains(sent.Lost(), "wr0ng") {
			t.Errorf("%+v: %s", sent, sent.Lost())
		}
	}
	for _, bad := range []string{"host:9090", "ftp://host", "http://"} {
		if prom.CheckURL(bad) == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
