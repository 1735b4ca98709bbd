package pace

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/unit"
)

// Stage is a part of a load: its rate, or its number of users, goes from From to To linearly in the given time.
type Stage struct {
	From, To float64
	Time     time.Duration
}

// Forever is the time of a stage that does not end.
const Forever = time.Duration(math.MaxInt64)

// ParseStage reads LEVEL:TIME, where LEVEL may be FROM-TO: "10:30s" or "10-50:1m". A time without a unit is in seconds.
func ParseStage(text string) (Stage, error) {
	level, length, ok := strings.Cut(strings.TrimSpace(text), ":")
	from, to, slope := strings.Cut(level, "-")
	if !slope {
		to = from
	}
	a, err1 := strconv.ParseFloat(from, 64)
	b, err2 := strconv.ParseFloat(to, 64)
	d, err3 := unit.Time(length, time.Second)
	if !ok || err1 != nil || err2 != nil || err3 != nil || !(a >= 0 && b >= 0 && a+b > 0 && max(a, b) <= maxLevel) || d <= 0 {
		return Stage{}, fmt.Errorf(`is LEVEL:TIME, as "10:30s" or "10-50:1m", not %q`, text)
	}
	return Stage{From: a, To: b, Time: d}, nil
}

// maxLevel is a rate that no client on one machine can send.
const maxLevel = 1e9

// ParseStages reads a list of stages, separated by commas.
func ParseStages(text string) ([]Stage, error) {
	var out []Stage
	for part := range strings.SplitSeq(text, ",") {
		s, err := ParseStage(part)
		if err != nil {
			return nil, fmt.Errorf(`is a list of LEVEL:TIME, as "10:30s,10-50:1m", not %q`, text)
		}
		out = append(out, s)
	}
	return out, nil
}

// FormatStages writes stages as ParseStages reads them.
func FormatStages(list []Stage) string {
	return strings.Join(convert.All(list, Stage.String), ",")
}

// String writes a stage as ParseStage reads it.
func (s Stage) String() string {
	level := strconv.FormatFloat(s.From, 'f', -1, 64)
	if s.To != s.From {
		level += "-" + strconv.FormatFloat(s.To, 'f', -1, 64)
	}
	if s.Time == Forever {
		return level + endless
	}
	return level + ":" + s.Time.String()
}

// endless is the end of the text of a stage without an end.
const endless = ":inf"

// MarshalText implements encoding.TextMarshaler.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Stage) UnmarshalText(text []byte) (err error) {
	level, inf := strings.CutSuffix(string(text), endless)
	if inf {
		level += ":1s"
	}
	*s, err = ParseStage(level)
	if inf {
		s.Time = Forever
	}
	return err
}

// requests is the expected number of requests of a stage that ends.
func (s Stage) requests() float64 { return (s.From + s.To) / 2 * s.Time.Seconds() }

// Length is the time of all stages; 0 where the last has no end.
func Length(stages []Stage) time.Duration {
	var sum time.Duration
	for _, s := range stages {
		if s.Time == Forever {
			return 0
		}
		sum += s.Time
	}
	return sum
}

// StagesRate is the mean rate of stages that end, in requests per second.
func StagesRate(stages []Stage) float64 {
	var n float64
	for _, s := range stages {
		n += s.requests()
	}
	return n / max(Length(stages).Seconds(), 1e-9)
}

// staged turns arrivals of one a second into arrivals at a rate that changes. With the rate λ(t), arrival n is due at the time t
// at which the integral Λ(t) = ∫₀ᵗ λ(u) du reaches the sum of the first n gaps. With gaps of one, requests are spaced evenly:
// after t seconds there have been ⌊Λ(t)⌋ of them. With exponential gaps of mean one the arrivals are a Poisson process of rate
// λ(t): the number in any interval (a, b] has the Poisson distribution with mean Λ(b) − Λ(a), and disjoint intervals are
// independent.
type staged struct {
	stages []Stage
	gap    func() float64 // the gap to the next arrival at one a second; nil is 1
	at     float64        // the sum of the gaps
	stage  int
	before float64       // Λ at the end of the stages before
	since  time.Duration // time of the stages before
}

// Stages follows the rates of stages, one after another, and ends with the last. gap draws the gaps between arrivals at one a
// second; nil spaces requests evenly.
func Stages(stages []Stage, gap func() float64) Schedule {
	return &staged{stages: stages, gap: gap}
}

func (c *staged) skip(n int) bool {
	if c.gap == nil {
		c.at += float64(n)
	}
	return c.gap == nil
}

// Next is the time of the next arrival.
func (c *staged) Next() (time.Duration, bool) {
	if c.gap == nil {
		c.at++
	} else {
		c.at += c.gap()
	}
	for c.stage < len(c.stages) {
		s := c.stages[c.stage]
		in := c.at - c.before
		if s.Time == Forever {
			return c.since + seconds(in/s.From), s.From > 0
		}
		if all := s.requests(); in > all+rounding*c.at {
			c.before += all
			c.since += s.Time
			c.stage++
			continue
		}
		return c.since + min(s.Time, seconds(s.inverse(in))), true
	}
	return 0, false
}

// rounding is the relative error that sums of gaps and of stages may have: the last arrival of a stage that is due exactly at its
// end belongs to the stage.
const rounding = 1e-12

// inverse is the time in seconds after which a stage has seen n arrivals: the solution x of From·x + (To−From)/(2·Time)·x² = n.
// The form 2n / (From + √…) is exact also where From and To are nearly equal.
func (s Stage) inverse(n float64) float64 {
	slope := (s.To - s.From) / s.Time.Seconds()
	root := math.Sqrt(max(0, s.From*s.From+2*slope*n))
	return 2 * n / (s.From + root)
}

func seconds(s float64) time.Duration {
	if s > math.MaxInt64/1e9/2 {
		return Forever / 2
	}
	return time.Duration(s * 1e9)
}
