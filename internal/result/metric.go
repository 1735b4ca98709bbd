package result

import "encoding/json"

// Metric is one measured quantity by name. A single number, such as a throughput, has only Avg.
type Metric struct {
	Tag  string `json:"tag"`  // stable: time_to_first_token
	Name string `json:"name"` // for people: Time to First Token
	Unit string `json:"unit"` // ms, tokens, tokens/sec, requests/sec, %, ...
	// Higher: a higher value is better.
	Higher bool    `json:"higher,omitempty"`
	Avg    float64 `json:"avg"`
	// Dist is set if the metric has one value per request.
	Dist *Dist `json:"dist,omitempty"`
	// Interval is the confidence interval of Avg, Intervals those of percentiles, if they were computed.
	Interval  *Interval           `json:"interval,omitempty"`
	Intervals map[string]Interval `json:"intervals,omitempty"` // "p50", "p99"
}

// Dist is the distribution of a metric, in its unit.
type Dist struct {
	Count       uint64       `json:"count"`
	Sum         float64      `json:"sum"`
	Min         float64      `json:"min"`
	Max         float64      `json:"max"`
	Std         float64      `json:"std"`
	Percentiles []Quantile   `json:"percentiles"` // ascending
	Histogram   []FloatCount `json:"histogram,omitempty"`
}

// Quantile is one point of a distribution.
type Quantile struct {
	P float64 `json:"p"`
	V float64 `json:"v"`
	// AtLeast: the request at this rank was canceled at the end, and V is its age.
	AtLeast bool `json:"at_least,omitempty"`
}

// FloatCount counts the values at or below UpTo and above the previous bucket.
type FloatCount struct {
	UpTo  float64 `json:"le"`
	Count uint64  `json:"n"`
}

// At returns the value at percentile p, and whether it was computed.
func (d *Dist) At(p float64) (float64, bool) {
	for _, q := range d.Percentiles {
		if q.P == p {
			return q.V, true
		}
	}
	return 0, false
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
