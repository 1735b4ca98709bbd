package result

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Metric is one measured quantity. A single number, such as a throughput, has only Avg; the other figures are those of a quantity with
// one value per request.
type Metric struct {
	Tag  string `json:"tag,omitempty"`  // stable: time_to_first_token
	Name string `json:"name,omitempty"` // for people: Time to First Token
	Unit string `json:"unit"`           // ns, ms, tokens, tokens/sec, requests/sec, %, ...
	// Higher: a higher value is better.
	Higher bool    `json:"higher,omitempty"`
	Avg    float64 `json:"avg"`
	// Interval is the confidence interval of Avg, if it was computed.
	Interval  *Interval  `json:"interval,omitempty"`
	Count     uint64     `json:"count,omitempty"` // values
	Sum       float64    `json:"sum,omitempty"`
	Min       float64    `json:"min,omitempty"`
	Max       float64    `json:"max,omitempty"`
	Std       float64    `json:"std,omitempty"`
	Quantiles []Quantile `json:"percentiles,omitempty"` // ascending
	// Approximate: there were so many values that percentiles come from buckets, with a relative error of at most 0.1 %.
	Approximate bool `json:"approximate,omitempty"`
}

// Nanoseconds and Milliseconds are the units of times.
const (
	Nanoseconds  = "ns"
	Milliseconds = "ms"
)

// Quantile is one point of a distribution, with its confidence interval, if that was computed.
type Quantile struct {
	P float64 `json:"p"`
	V float64 `json:"v"`
	// AtLeast: the request at this rank was in flight at the end, and V is its age. UpTo is the value at this rank if the requests
	// in flight above it, Above in number, never end; 0 if there is no such bound.
	AtLeast  bool      `json:"at_least,omitempty"`
	UpTo     float64   `json:"up_to,omitempty"`
	Above    uint64    `json:"in_flight_above,omitempty"`
	Interval *Interval `json:"interval,omitempty"`
}

// Distributed tells whether the metric has one value per request.
func (m *Metric) Distributed() bool { return m.Count > 0 || len(m.Quantiles) > 0 }

// At returns the value at percentile p, or 0 if it was not computed.
func (m *Metric) At(p float64) float64 { return m.Point(p).V }

// Point returns the point at percentile p, or the zero value if it was not computed.
func (m *Metric) Point(p float64) Quantile {
	for _, q := range m.Quantiles {
		if q.P == p {
			return q
		}
	}
	return Quantile{}
}

// Find returns the value at percentile p, and whether it was computed.
func (m *Metric) Find(p float64) (float64, bool) {
	q := m.Point(p)
	return q.V, q.P == p
}

// ParsePercentile reads a percentile by name, such as p99.
func ParsePercentile(name string) (float64, bool) {
	p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
	return p, err == nil && strings.HasPrefix(name, "p")
}

// IntervalOf returns the interval of the mean ("avg") or of a percentile ("p99"); nil if it was not computed.
func (m *Metric) IntervalOf(stat string) *Interval {
	if stat == "avg" {
		return m.Interval
	}
	p, _ := ParsePercentile(stat)
	return m.Point(p).Interval
}

// Bound takes the percentiles that are only known to be at least a value from another metric of the same requests.
func (m *Metric) Bound(of Metric) {
	for i, q := range m.Quantiles {
		if p := of.Point(q.P); p.AtLeast {
			p.Interval = q.Interval
			m.Quantiles[i] = p
		}
	}
}

// In returns the metric in another unit, which is factor times as small. Nanoseconds are whole.
func (m Metric) In(unit string, factor float64) Metric {
	m.Unit, m.Interval = unit, m.Interval.Scaled(factor)
	scale := func(v float64) float64 {
		if unit == Nanoseconds {
			return math.Round(v * factor)
		}
		return v * factor
	}
	m.Avg, m.Sum, m.Min, m.Max, m.Std = scale(m.Avg), scale(m.Sum), scale(m.Min), scale(m.Max), scale(m.Std)
	m.Quantiles = slices.Clone(m.Quantiles)
	for i := range m.Quantiles {
		q := &m.Quantiles[i]
		q.V, q.UpTo, q.Interval = scale(q.V), scale(q.UpTo), q.Interval.Scaled(factor)
	}
	return m
}

// read finds a figure by name; times are milliseconds.
func (m *Metric) read(stat string) (Reading, bool) {
	unit, factor := m.Unit, 1.0
	if unit == Nanoseconds {
		unit, factor = Milliseconds, 1/nsPerMs
	}
	r := Reading{Unit: unit, Higher: m.Higher}
	if stat == "" || stat == "mean" {
		stat = "avg"
	}
	switch v, known := map[string]float64{"avg": m.Avg, "min": m.Min, "max": m.Max, "std": m.Std}[stat]; {
	case known && (stat == "avg" || m.Distributed()):
		r.Value = v * factor
	case stat == "count" && m.Distributed():
		return Reading{Value: float64(m.Count), Unit: unit, Higher: m.Higher}, true
	default:
		p, ok := ParsePercentile(stat)
		v, known := m.Find(p)
		if !ok || !known {
			return Reading{}, false
		}
		r.Value = v * factor
		r = r.sampled(p, m.Count)
	}
	r.Interval = m.IntervalOf(stat).Scaled(factor)
	return r, true
}

// Interval is a confidence interval.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"` // 0.95
	// Open: the sample is too small for an upper end; the value is at least Low. High is 0, and null in JSON.
	Open bool `json:"-"`
}

// Scaled is the interval in another unit; nil stays nil.
func (i *Interval) Scaled(factor float64) *Interval {
	if i == nil {
		return nil
	}
	return &Interval{Low: factor * i.Low, High: factor * i.High, Level: i.Level, Open: i.Open}
}

// intervalJSON is the JSON form of an interval.
type intervalJSON struct {
	Low   float64  `json:"low"`
	High  *float64 `json:"high"`
	Level float64  `json:"level"`
}

// MarshalJSON writes an open end as null.
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal(intervalJSONOf(i))
}

func intervalJSONOf(i Interval) intervalJSON {
	out := intervalJSON{Low: i.Low, High: &i.High, Level: i.Level}
	if i.Open {
		out.High = nil
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var in intervalJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*i = in.interval()
	return nil
}

func (in intervalJSON) interval() Interval {
	i := Interval{Low: in.Low, Level: in.Level, Open: in.High == nil}
	if in.High != nil {
		i.High = *in.High
	}
	return i
}
