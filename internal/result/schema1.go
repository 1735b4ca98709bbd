package result

import "encoding/json"

// Results of schema 1 had two shapes of a metric: latencies in nanoseconds, and metrics with a distribution. Metric reads both, so that
// older results can be compared, gated and run again.

// metric1 is a latency or a metric of schema 1.
type metric1 struct {
	StdDev      *float64        `json:"std_dev"`
	Percentiles []percentile1   `json:"percentiles"`
	Dist        json.RawMessage `json:"dist"`
	Exact       *bool           `json:"exact"`
	// Intervals are those of percentiles, and of a latency's mean ("avg").
	Intervals map[string]Interval `json:"intervals"`
}

// percentile1 is a point in nanoseconds, or in the metric's unit.
type percentile1 struct {
	Quantile
	Ns   *float64 `json:"ns"`
	UpTo float64  `json:"up_to_ns"`
}

// UnmarshalJSON reads the metrics of this schema and of schema 1.
func (m *Metric) UnmarshalJSON(data []byte) error {
	type plain Metric
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	var old metric1
	if err := json.Unmarshal(data, &old); err != nil {
		return err
	}
	if old.Dist != nil {
		if err := json.Unmarshal(old.Dist, (*plain)(m)); err != nil {
			return err
		}
		if err := json.Unmarshal(old.Dist, &old); err != nil {
			return err
		}
	}
	m.upgrade(&old)
	return nil
}

func (m *Metric) upgrade(old *metric1) {
	m.Quantiles = nil
	for _, p := range old.Percentiles {
		q := p.Quantile
		if p.Ns != nil {
			q.V, q.UpTo = *p.Ns, p.UpTo
		}
		m.Quantiles = append(m.Quantiles, q)
	}
	if old.StdDev != nil { // a latency
		m.Std, m.Unit = *old.StdDev, Nanoseconds
	}
	if old.Exact != nil {
		m.Approximate = !*old.Exact
	}
	for name, iv := range old.Intervals {
		if name == "avg" {
			m.Interval = &iv
		}
		for i := range m.Quantiles {
			if p, ok := ParsePercentile(name); ok && m.Quantiles[i].P == p {
				m.Quantiles[i].Interval = &iv
			}
		}
	}
}
