package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/unit"
)

// Traffic is what is sent and how: what a floor belongs to.
type Traffic struct {
	Protocol string `json:"protocol"`
	// Service is the kind of server; empty is KServe, as Triton speaks it. With the protocol "llm http" or "llm grpc" it is
	// the kind of endpoint.
	Service string `json:"service,omitempty"`
	// Mode is how calls are made, in words: unary or stream, and what else makes them cost more or less.
	Mode string `json:"mode"`
	// Concurrency is that of a closed loop, Rate the requests a second of an open one, as they were asked for.
	Concurrency int     `json:"concurrency,omitempty"`
	Rate        float64 `json:"rate,omitempty"`
	// InFlight is how many requests were in flight on average.
	InFlight float64 `json:"in_flight"`
	// PerSecond is the pace: requests that ended a second; streamed tokens a second for language models.
	PerSecond     float64 `json:"per_second"`
	RequestBytes  uint64  `json:"request_bytes"`
	ResponseBytes uint64  `json:"response_bytes"`
}

// Same tells whether two are the same traffic at the same pace.
func (t Traffic) Same(o Traffic) bool { return t.samePace(o) && t.sameButPace(o) }

// sameButPace compares all but the pace. Sizes may differ by what does not matter: the digits of request ids.
func (t Traffic) sameButPace(o Traffic) bool {
	return t.Protocol == o.Protocol && t.Service == o.Service && t.Mode == o.Mode && t.Concurrency == o.Concurrency && t.Rate == o.Rate &&
		SameSize(t.RequestBytes, o.RequestBytes) && SameSize(t.ResponseBytes, o.ResponseBytes)
}

// PaceBucket is the ratio up to which two paces count as one. The error depends on whether the client's threads sleep
// between two answers, which a factor of 1.5 hardly changes.
const PaceBucket = 1.5

// SlowPace is a pace in requests a second at which the client sleeps long enough between two answers for a processor to
// reach its deepest idle state. Slower paces count as this one.
const SlowPace = 50

func (t Traffic) samePace(o Traffic) bool {
	return ratio(max(t.PerSecond, SlowPace), max(o.PerSecond, SlowPace)) <= math.Log(PaceBucket)
}

// SameSize tells whether two sizes are within 2 %, or 64 bytes.
func SameSize(a, b uint64) bool {
	most := max(a, b)
	return most-min(a, b) <= max(64, most/50)
}

// otherwise is how far apart two ways of calling that differ in one thing, or two kinds of server, are: as far as a load of 8 and one of 64.
var otherwise = math.Log(8)

// distance is how unlike two are; infinite for different protocols. Loads and sizes are compared as ratios, so that 1 and 8
// are as far apart as 8 and 64.
func (t Traffic) distance(o Traffic) float64 {
	if t.Protocol != o.Protocol {
		return math.Inf(1)
	}
	d := ratio(t.InFlight, o.InFlight)
	if t.Rate > 0 && o.Rate > 0 {
		d = ratio(t.Rate, o.Rate)
	}
	d += ratio(max(t.PerSecond, SlowPace), max(o.PerSecond, SlowPace))
	d += ratio(float64(t.RequestBytes), float64(o.RequestBytes))/2 + ratio(float64(t.ResponseBytes), float64(o.ResponseBytes))/2
	if n := unlike(t.Mode, o.Mode); n > 0 {
		d += otherwise * float64(1+n) / 2
	}
	if t.Service != o.Service {
		d += otherwise
	}
	return d
}

// unlike counts the words that only one of two modes has.
func unlike(a, b string) int {
	one, other := strings.Fields(a), strings.Fields(b)
	missing := func(from, in []string) (n int) {
		for _, w := range from {
			if !slices.Contains(in, w) {
				n++
			}
		}
		return n
	}
	return missing(one, other) + missing(other, one)
}

func ratio(a, b float64) float64 { return math.Abs(math.Log(max(a, 1)) - math.Log(max(b, 1))) }

// String is the traffic in words, as "grpc unary, 8 in flight, 400 requests/s, 128 + 128 bytes".
func (t Traffic) String() string {
	var b strings.Builder
	b.WriteString(t.Protocol)
	if t.Service != "" {
		b.WriteString(" " + t.Service)
	}
	fmt.Fprintf(&b, " %s, %s, ", t.Mode, t.Load())
	if t.Rate == 0 || t.tokens() { // otherwise the load names the pace
		b.WriteString(t.Pace() + ", ")
	}
	fmt.Fprint(&b, t.RequestBytes)
	if !t.tokens() { // the sizes of their answers are not compared
		fmt.Fprintf(&b, " + %d", t.ResponseBytes)
	}
	return b.String() + " bytes"
}

// Load is the load in words.
func (t Traffic) Load() string {
	if t.Rate > 0 {
		return unit.Digits(t.Rate, 6) + " requests/s"
	}
	if t.Concurrency > 0 {
		return fmt.Sprintf("%d in flight", t.Concurrency)
	}
	return unit.Digits(t.InFlight, 3) + " in flight"
}

// tokens tells whether it is the traffic of a language model.
func (t Traffic) tokens() bool { return strings.HasPrefix(t.Protocol, "llm ") }

// Pace is the pace in words.
func (t Traffic) Pace() string {
	of := "requests/s"
	if t.tokens() {
		of = "tokens/s"
	}
	return unit.Digits(t.PerSecond, 3) + " " + of
}
