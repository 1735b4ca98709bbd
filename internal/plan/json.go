package plan

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// duration is a time that JSON has as text: "1m30s".
type duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalJSON implements json.Unmarshaler. It also accepts a number of nanoseconds, as in results of earlier builds.
func (d *duration) UnmarshalJSON(b []byte) error {
	if ns, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*d = duration(ns)
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	*d = duration(v)
	return err
}

// IsZero lets JSON leave out a time of 0.
func (d *duration) IsZero() bool { return *d == 0 }

// The types below are those of the plan without methods. Their fields of type time.Duration are hidden by fields of type
// duration with the same names in JSON.
type (
	plainTarget  Target
	plainMetrics Metrics
	plainMeasure Measure
)

type targetJSON struct {
	*plainTarget
	Timeout *duration `json:"timeout"`
}

type metricsJSON struct {
	*plainMetrics
	Interval *duration `json:"interval,omitzero"`
}

type measureJSON struct {
	*plainMeasure
	Interval     *duration `json:"interval"`
	LatencyLimit *duration `json:"latency_limit,omitzero"`
}

func (t *Target) form() *targetJSON {
	return &targetJSON{(*plainTarget)(t), (*duration)(&t.Timeout)}
}

func (m *Metrics) form() *metricsJSON {
	return &metricsJSON{(*plainMetrics)(m), (*duration)(&m.Interval)}
}

func (m *Measure) form() *measureJSON {
	return &measureJSON{(*plainMeasure)(m), (*duration)(&m.Interval), (*duration)(&m.LatencyLimit)}
}

// encode leaves it to the caller's encoder to escape <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// MarshalJSON implements json.Marshaler.
func (t Target) MarshalJSON() ([]byte, error) { return encode(t.form()) }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Target) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, t.form()) }

// MarshalJSON implements json.Marshaler.
func (m Metrics) MarshalJSON() ([]byte, error) { return encode(m.form()) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metrics) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, m.form()) }

// MarshalJSON implements json.Marshaler.
func (m Measure) MarshalJSON() ([]byte, error) { return encode(m.form()) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Measure) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, m.form()) }
