package pace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/unit"
)

// ThinkTime is how long a slot of a closed loop waits after a request has ended before it sends the next: a time drawn
// uniformly from Mean ± Spread. The zero value does not wait.
type ThinkTime struct {
	Mean   time.Duration
	Spread time.Duration
}

// maxThinkTime is the longest mean that can be asked for.
const maxThinkTime = 24 * time.Hour

// ParseThinkTime reads "100ms" or "100ms±20ms"; "+-" stands for "±" too. A time without a unit is in seconds.
func ParseThinkTime(text string) (ThinkTime, error) {
	mean, spread, drawn := strings.Cut(strings.Replace(text, "+-", "±", 1), "±")
	if !drawn {
		spread = "0s"
	}
	m, err := unit.Time(mean, time.Second)
	s, bad := unit.Time(spread, time.Second)
	switch {
	case err != nil || bad != nil || m > maxThinkTime:
		return ThinkTime{}, fmt.Errorf("is a time of at most 24h, such as 100ms or 100ms±20ms, not '%s'", text)
	case s > m:
		return ThinkTime{}, fmt.Errorf("has a spread that is longer than the time itself: '%s'", text)
	}
	return ThinkTime{Mean: m, Spread: s}, nil
}

// String writes a think time as ParseThinkTime reads it.
func (t ThinkTime) String() string {
	if t.Spread == 0 {
		return t.Mean.String()
	}
	return t.Mean.String() + "±" + t.Spread.String()
}

// MarshalText implements encoding.TextMarshaler.
func (t ThinkTime) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *ThinkTime) UnmarshalText(text []byte) (err error) {
	*t, err = ParseThinkTime(string(text))
	return err
}

// thinkStream keeps think times apart from what else is drawn from the same seed.
const thinkStream = 0x7417 << 32

// Slot returns the function that draws the think times of a slot, one after the other; nil where slots do not wait. The same
// seed gives the same times.
func (t ThinkTime) Slot(seed uint64, slot int) func() time.Duration {
	if t.Mean == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, thinkStream+uint64(slot)))
	return func() time.Duration { return t.Mean - t.Spread + time.Duration(rng.Int64N(2*int64(t.Spread)+1)) }
}
