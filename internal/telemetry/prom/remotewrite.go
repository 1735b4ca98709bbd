package prom

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/snappy"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
)

const (
	// writeEvery is the time between two messages.
	writeEvery = time.Second
	// writeLimit limits one message, and the last one of a run, which the user waits for.
	writeLimit = 3 * time.Second
)

// RemoteWriter sends the metrics of a run to a server of Prometheus' remote write protocol, for runs that are too short to be scraped.
// One message is under way at a time and nothing is queued: what a lost message said is in the next.
type RemoteWriter struct {
	address string
	url     string
	user    *url.Userinfo
	forms   Forms
	read    func() []*dto.MetricFamily
	client  *http.Client
	cancel  context.CancelFunc
	done    sync.WaitGroup

	// Of the goroutine that sends.
	sent result.Sent
	at   int64 // time of the last message, in milliseconds
}

// CheckURL reports what is wrong with an address of remote write.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("is a URL such as http://prometheus:9090/api/v1/write, not %q", secret.PublicURL(address))
	}
	return nil
}

// Forms are the forms in which histograms are sent. A Prometheus stores native ones only if that is enabled.
type Forms struct{ Classic, Native bool }

// FormsOf are the forms that an option names: classic, native or both.
func FormsOf(name string) Forms {
	return Forms{Classic: name != "native", Native: name == "native" || name == "both"}
}

// OpenRemoteWriter starts to send what read gives.
func OpenRemoteWriter(ctx context.Context, address string, forms Forms, read func() []*dto.MetricFamily) (*RemoteWriter, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	w := &RemoteWriter{address: secret.PublicURL(address), user: u.User, forms: forms, read: read, client: &http.Client{}}
	u.User = nil
	w.url = u.String()
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() { clock.Every(ctx, writeEvery, func() { w.send(ctx) }) })
	return w, nil
}

// Close sends the last message and reports what arrived.
func (w *RemoteWriter) Close(ctx context.Context) result.Sent {
	w.cancel()
	w.done.Wait()
	w.send(ctx)
	w.client.CloseIdleConnections()
	out := w.sent
	out.To, out.Address = "Prometheus remote write", w.address
	return out
}

// send sends one message and counts it. One that the end of the run cancels does not count: the last message has its content.
func (w *RemoteWriter) send(ctx context.Context) {
	w.at = max(time.Now().UnixMilli(), w.at+1) // a receiver refuses two values of one time
	body := encode(w.read(), w.forms, w.at)
	limited, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	err := w.post(limited, snappy.Encode(nil, body))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	w.sent.Sends++
	w.sent.Complete = err == nil
	if err != nil {
		w.sent.Failed++
		if w.sent.Error == "" {
			w.sent.Error = err.Error()
		}
	}
}

func (w *RemoteWriter) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if w.user != nil {
		password, _ := w.user.Password()
		req.SetBasicAuth(w.user.Username(), password)
	}
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	resp, err := w.client.Do(req)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			return cause // without the URL, which may carry a secret
		}
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // the reason of a refusal
	if resp.StatusCode/100 != 2 {
		if bytes.Contains(text, []byte("native histograms are disabled")) {
			return errors.New("native histograms are disabled there: use --prometheus-histograms classic, or enable them")
		}
		return fmt.Errorf("status %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	return nil
}

// encode writes the message WriteRequest of the protocol, version 1. Its fields: WriteRequest.timeseries 1; TimeSeries.labels 1,
// samples 2, histograms 4; Label.name 1, value 2; Sample.value 1, timestamp 2.
func encode(list []*dto.MetricFamily, forms Forms, at int64) []byte {
	var out []byte
	sample := func(name string, labels []*dto.LabelPair, v float64) {
		s := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(v))
		out = appendMessage(out, 1, appendMessage(appendLabels(nil, name, labels), 2, appendInt(s, 2, uint64(at))))
	}
	for _, f := range list {
		for _, m := range f.Metric {
			name, h := f.GetName(), m.Histogram
			if h == nil {
				sample(name, m.Label, m.GetCounter().GetValue()+m.GetGauge().GetValue()) // one of them is set
				continue
			}
			if forms.Native {
				out = appendMessage(out, 1, appendMessage(appendLabels(nil, name, m.Label), 4, histogramOf(h, at)))
			}
			if forms.Classic {
				for _, b := range classic(h) {
					sample(name+"_bucket", sorted(append(slices.Clone(m.Label), &dto.LabelPair{Name: new("le"), Value: &b.le})), float64(b.count))
				}
				sample(name+"_sum", m.Label, h.GetSampleSum())
				sample(name+"_count", m.Label, float64(h.GetSampleCount()))
			}
		}
	}
	return out
}

// appendLabels writes the labels, with the name of the metric first: __name__ sorts before letters.
func appendLabels(b []byte, name string, labels []*dto.LabelPair) []byte {
	one := func(k, v string) {
		l := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), k)
		b = appendMessage(b, 1, protowire.AppendString(protowire.AppendTag(l, 2, protowire.BytesType), v))
	}
	one("__name__", name)
	for _, l := range labels {
		one(l.GetName(), l.GetValue())
	}
	return b
}

// histogramOf writes a native histogram. Its fields: count 1, sum 3, schema 4 (zigzag), zero_threshold 5, zero_count 6,
// positive_spans 11 (offset 1 zigzag, length 2), positive_deltas 12 (packed zigzag), timestamp 15.
func histogramOf(h *dto.Histogram, at int64) []byte {
	b := appendInt(nil, 1, h.GetSampleCount())
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), math.Float64bits(h.GetSampleSum()))
	b = appendInt(b, 4, protowire.EncodeZigZag(int64(h.GetSchema())))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 5, protowire.Fixed64Type), math.Float64bits(h.GetZeroThreshold()))
	b = appendInt(b, 6, h.GetZeroCount())
	for _, s := range h.PositiveSpan {
		b = appendMessage(b, 11, appendInt(appendInt(nil, 1, protowire.EncodeZigZag(int64(s.GetOffset()))), 2, uint64(s.GetLength())))
	}
	var deltas []byte
	for _, d := range h.PositiveDelta {
		deltas = protowire.AppendVarint(deltas, protowire.EncodeZigZag(d))
	}
	b = appendMessage(b, 12, deltas)
	return appendInt(b, 15, uint64(at))
}

func appendInt(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendMessage(b []byte, field protowire.Number, msg []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), msg)
}
