package result

import "strings"

// Reading is one number of a level, by name. Times are milliseconds.
type Reading struct {
	Value  float64
	Unit   string // ms, /s, %, requests, ...
	Higher bool   // a higher value is better
	// Needs is the number of samples that a percentile with too few of them needs; 0 where there are enough. Has is their number.
	Needs, Has uint64
	// Interval is the confidence interval of the value; nil where none was computed.
	Interval *Interval
}

// sampled adds to the reading of a percentile whether its n samples are enough.
func (r Reading) sampled(p float64, n uint64) Reading {
	if n > 0 && !Enough(p, n) { // files of other tools may lack the number
		r.Needs, r.Has = Fewest(p), n
	}
	return r
}

const nsPerMs = 1e6

// short has the common short names of metrics.
var short = map[string]string{
	"ttft": "time_to_first_token", "ttst": "time_to_second_token", "ttfo": "time_to_first_output_token",
	"itl": "inter_token_latency", "icl": "inter_chunk_latency", "tpot": "inter_token_latency",
	"osl": "output_sequence_length", "isl": "input_sequence_length", "tokens_per_sec": "output_token_throughput",
}

// Read finds a number of the level: percentiles (p99), avg, min, max and std of the headline latency, also as latency.p99;
// send.p99 and due.p99 from send time and due time, first.p99 to the first response; throughput, responses, sequences,
// send_rate, requests, failed, error_rate, in_flight, lag.p99, overhead, server.queue, server.compute, cpu_per_request; and
// every metric by its tag or short name, such as ttft.p99; good_request_share is goodput in percent of the requests. ok is false if the level does not have the number.
func (lv *Level) Read(name string) (r Reading, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if r, ok = lv.plain(name); ok {
		return r, true
	}
	head, tail, dotted := strings.Cut(name, ".")
	if r, ok = lv.metric(head, tail); ok {
		return r, true
	}
	if !dotted || isPercentile(name) {
		return lv.Client.Latency.read(name)
	}
	switch head {
	case "latency":
		return lv.Client.Latency.read(tail)
	case "send":
		return lv.Client.Sent.read(tail)
	case "due":
		return lv.Client.Due.read(tail)
	case "first":
		if lv.Client.First != nil {
			return lv.Client.First.read(tail)
		}
	case "lag":
		return lv.Health.lag(tail)
	case "server":
		return lv.server(tail)
	}
	return Reading{}, false
}

func isPercentile(name string) bool {
	_, ok := ParsePercentile(name)
	return ok
}

func (lv *Level) plain(name string) (Reading, bool) {
	c := &lv.Client
	switch name {
	case "throughput":
		return Reading{Value: c.InferPerSec, Unit: "/s", Higher: true}, true
	case "responses":
		return Reading{Value: c.ResponsePerSec, Unit: "/s", Higher: true}, true
	case "sequences":
		return Reading{Value: c.SequencePerSec, Unit: "/s", Higher: true}, true
	case "send_rate":
		return Reading{Value: c.SendRate, Unit: "/s", Higher: true}, true
	case "requests":
		return Reading{Value: float64(c.Requests), Unit: "requests", Higher: true}, true
	case "failed":
		return Reading{Value: float64(c.Failed), Unit: "requests"}, true
	case "error_rate":
		return Reading{Value: lv.ErrorRate(), Unit: "%"}, true
	case "in_flight":
		return Reading{Value: lv.Health.AchievedInFlight, Unit: "requests", Higher: true}, true
	case "overhead":
		return Reading{Value: c.OverheadPercent, Unit: "%"}, true
	case "good_request_share":
		return lv.goodShare()
	case "cpu_per_request":
		return Reading{Value: float64(lv.Health.CPUPerRequestNs) / nsPerMs, Unit: "ms"}, true
	}
	return Reading{}, false
}

// goodShare is the share of requests that meet every bound of goodput, in percent.
func (lv *Level) goodShare() (Reading, bool) {
	m := lv.Metric("good_request_fraction")
	if m == nil {
		return Reading{}, false
	}
	return Reading{Value: 100 * m.Avg, Unit: "%", Higher: true, Interval: m.Interval.Scaled(100)}, true
}

// ErrorRate is the share of requests that failed, in percent.
func (lv *Level) ErrorRate() float64 {
	ended := lv.Client.Requests + lv.Client.Failed
	if ended == 0 {
		return 0
	}
	return 100 * float64(lv.Client.Failed) / float64(ended)
}

// AddCounts adds the counts of another client's requests.
func (c *Client) AddCounts(o *Client) {
	c.Requests += o.Requests
	c.Responses += o.Responses
	c.Sequences += o.Sequences
	c.Delayed += o.Delayed
	c.Failed += o.Failed
	c.Unanswered += o.Unanswered
	c.Resent += o.Resent
}

// Metric finds a metric by its tag or short name.
func (lv *Level) Metric(name string) *Metric {
	if tag, ok := short[name]; ok {
		name = tag
	}
	for i := range lv.Metrics {
		if lv.Metrics[i].Tag == name {
			return &lv.Metrics[i]
		}
	}
	return nil
}

func (lv *Level) metric(name, stat string) (Reading, bool) {
	m := lv.Metric(name)
	if m == nil {
		return Reading{}, false
	}
	return m.read(stat)
}

func (h *Health) lag(stat string) (Reading, bool) {
	ns, ok := map[string]int64{"p50": h.LagP50Ns, "p99": h.LagP99Ns, "max": h.LagMaxNs}[stat]
	return Reading{Value: float64(ns) / nsPerMs, Unit: "ms"}, ok
}

func (lv *Level) server(part string) (Reading, bool) {
	if lv.Server == nil {
		return Reading{}, false
	}
	s := &lv.Server.Stats
	ns, ok := map[string]uint64{
		"queue":   s.Queue.Avg(),
		"compute": s.ComputeInput.Avg() + s.ComputeInfer.Avg() + s.ComputeOutput.Avg(),
		"input":   s.ComputeInput.Avg(), "infer": s.ComputeInfer.Avg(), "output": s.ComputeOutput.Avg(),
	}[part]
	return Reading{Value: float64(ns) / nsPerMs, Unit: "ms"}, ok
}
