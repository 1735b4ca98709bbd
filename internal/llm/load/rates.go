package load

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/redline-bench/redline/internal/pace"
)

// ReadRates reads AIPerf's file of rates over time. Before the first point and after the last the rate stays what it
// is there.
func ReadRates(path string) ([]pace.Stage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type point struct {
		Time *float64 `json:"time_s"`
		Rate *float64 `json:"qps"`
	}
	var doc struct {
		Points []point `json:"points"`
	}
	if json.Unmarshal(text, &doc.Points) != nil {
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf(`%s is no list of {"time_s":0,"qps":5}: %w`, path, err)
		}
	}
	if len(doc.Points) < 2 {
		return nil, fmt.Errorf(`%s has %d points, a series at least two: [{"time_s":0,"qps":5},{"time_s":60,"qps":50}]`, path, len(doc.Points))
	}
	var out []pace.Stage
	at, rate := 0.0, 0.0
	for i, p := range doc.Points {
		switch {
		case p.Time == nil || p.Rate == nil || *p.Time < 0 || *p.Time > 1e9 || *p.Rate <= 0 || *p.Rate > 1e9:
			return nil, fmt.Errorf("%s: point %d needs a time_s of at least 0 and a qps above 0", path, i+1)
		case i > 0 && *p.Time <= at:
			return nil, fmt.Errorf("%s: point %d is not later than the one before", path, i+1)
		case i == 0:
			rate = *p.Rate
		}
		if d := time.Duration((*p.Time - at) * float64(time.Second)); d > 0 {
			out = append(out, pace.Stage{From: rate, To: *p.Rate, Time: d})
		}
		at, rate = *p.Time, *p.Rate
	}
	return append(out, pace.Stage{From: rate, To: rate, Time: pace.Forever}), nil
}
