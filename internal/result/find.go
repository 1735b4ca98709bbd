package result

import (
	"encoding/json"
	"slices"

	"github.com/redline-bench/redline/internal/unit"
)

// Find is a search for the highest load at which the objectives hold.
type Find struct {
	// By is what the load is: rate (requests per second), concurrency or users.
	By     string `json:"by"`
	Preset string `json:"preset,omitempty"`
	// State is searching, complete, interrupted, out of time or failed; Reason says why the search is not complete.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Next says what a search in progress does now, and how long it takes at most.
	Next string `json:"next,omitempty"`
	FindAnswer
	// Tiers are the answers of several tiers; the answer above is then that of the first. Empty with one tier.
	Tiers  []FindAnswer `json:"tiers,omitempty"`
	Probes []FindProbe  `json:"probes"`
}

// FindAnswer is what a search found for one tier: a set of objectives that must hold together.
type FindAnswer struct {
	Tier       string   `json:"tier,omitempty"`
	Objectives []string `json:"objectives"`
	// Outcome is found, at least (no load failed), all hold (even at the highest load), none holds (even at the lowest), client limit, or
	// open where no load has held yet.
	Outcome string `json:"outcome"`
	// Capacity is nil only if no load held.
	Capacity *Capacity `json:"capacity"`
	// Held is the measurement at the capacity; nil if no load held.
	Held *FindHeld `json:"held,omitempty"`
	// Bracket holds the capacity with its confidence. It is that of Capacity, and known where no load held, too.
	Bracket Interval `json:"bracket"`
	// Confirmed: the confirmation run at the capacity held every objective, and all probes together say so with the confidence of Bracket.
	Confirmed bool `json:"confirmed"`
	// Unsure says what the measurement at the capacity lacks for a sure decision; empty if it lacks nothing.
	Unsure string `json:"unsure,omitempty"`
	// LimitedBy is server or client; empty if neither was the limit.
	LimitedBy string `json:"limited_by,omitempty"`
	// FailsAt is the lowest load above the capacity that failed, ClientAt the lowest at which the client was the limit; 0 if there is none.
	FailsAt  float64 `json:"fails_at,omitempty"`
	ClientAt float64 `json:"client_limit_at,omitempty"`
	// Binding is the objective that failed there, or "backlog" or "server down". If no load failed, it is the objective that is nearest to
	// its limit.
	Binding string `json:"binding,omitempty"`
	// Knee is the load with the highest ratio of load to the binding objective's metric; 0 if it is not known.
	Knee float64 `json:"knee,omitempty"`
}

// FindHeld is how long the load of the answer was sent, and how many requests ended.
type FindHeld struct {
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
}

// Capacity is the highest load that held, with the interval of the highest load that holds.
type Capacity struct {
	Value float64 `json:"value"`
	Interval
}

// MarshalJSON writes the value beside the ends of its interval.
func (c Capacity) MarshalJSON() ([]byte, error) {
	return json.Marshal(capacityJSON{c.Value, intervalJSONOf(c.Interval)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Capacity) UnmarshalJSON(data []byte) error {
	var in capacityJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Capacity{in.Value, in.interval()}
	return nil
}

// capacityJSON is the JSON form of a capacity.
type capacityJSON struct {
	Value float64 `json:"value"`
	intervalJSON
}

// FindProbe is one load that a search ran.
type FindProbe struct {
	Load    float64 `json:"load"`
	Purpose string  `json:"purpose"` // bracket, bisect or confirm
	// Seconds is how long the load ran. Requests and Failures ended in that time; Backlog had not ended at its end.
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
	Failures int     `json:"failures"`
	Backlog  int     `json:"backlog"`
	// Figures are the values of the objectives' metrics.
	Figures []FindFigure `json:"figures"`
	// Decision is holds, fails, client limit or unknown. Sure: the interval of the metric lies on one side of the limit.
	Decision string `json:"decision"`
	Sure     bool   `json:"sure"`
	// End is why the load ended: decided, time over, overload, rejected, client limit, server down or stopped. Why explains the decision.
	End string `json:"end"`
	Why string `json:"why"`
	// Tiers are the decisions for each tier, if there are several.
	Tiers []FindDecision `json:"tiers,omitempty"`
	// Unrecovered: after this overload a light load did not hold the objectives in time.
	Unrecovered bool `json:"unrecovered,omitempty"`
}

// FindFigure is the value of an objective's metric in a probe.
type FindFigure struct {
	Objective string    `json:"objective"`
	Value     *float64  `json:"value"` // null if no request gave a value
	Unit      string    `json:"unit,omitempty"`
	Interval  *Interval `json:"interval,omitempty"`
}

// FindDecision is the decision about a load for one tier.
type FindDecision struct {
	Tier     string `json:"tier"`
	Decision string `json:"decision"`
	Sure     bool   `json:"sure"`
	Why      string `json:"why"`
}

// Answer is that of a tier; the first one for no name, nil for an unknown one.
func (f *Find) Answer(tier string) *FindAnswer {
	if tier == "" || tier == f.Tier {
		return &f.FindAnswer
	}
	for i := range f.Tiers {
		if f.Tiers[i].Tier == tier {
			return &f.Tiers[i]
		}
	}
	return nil
}

// Load writes a load with its unit, for people.
func (f *Find) Load(v float64) string {
	text := unit.Digits(v, 4)
	if f.By == "rate" {
		return text + " requests/s"
	}
	return text + " " + f.Unit()
}

// OneLoad tells that a preset ran one load instead of a search, so that the load is no answer.
func (f *Find) OneLoad() bool {
	return f.Preset != "" && !slices.ContainsFunc(f.Probes, func(p FindProbe) bool { return p.Load != f.Probes[0].Load })
}

// Unit is that of the load.
func (f *Find) Unit() string {
	switch f.By {
	case "rate":
		return "/s"
	case "concurrency":
		return "in flight"
	}
	return f.By
}
