package stress

import (
	"fmt"
	"strconv"
	"strings"
)

// Pattern is what an iteration sends.
type Pattern int

// The patterns, in the order in which a draw is compared with their shares.
const (
	NoStart    Pattern = iota // one request that lacks START and must be refused
	NoEnd                     // a sequence without END
	ValidNoEnd                // a valid sequence, then one without END
	ValidValid                // two valid sequences, one after the other
	Idle                      // a sequence that pauses until the server forgets it; its next request must be refused
	Valid                     // a valid sequence
	numPatterns
)

var patternNames = [numPatterns]string{"no-start", "no-end", "valid-no-end", "valid-valid", "idle", "valid"}

func (p Pattern) String() string { return patternNames[p] }

// Patterns lists them all.
func Patterns() []Pattern {
	return []Pattern{Valid, ValidValid, ValidNoEnd, NoEnd, NoStart, Idle}
}

// leavesOpen reports whether the server holds the sequence after the pattern.
func (p Pattern) leavesOpen() bool { return p == NoEnd || p == ValidNoEnd }

// Weights are the shares of patterns, in any unit.
type Weights [numPatterns]float64

// ParseWeights reads valid=85,no-end=15; patterns that are not named have weight 0.
func ParseWeights(text string) (Weights, error) {
	var w Weights
	var sum float64
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		p := indexOf(strings.TrimSpace(name))
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if p < 0 || err != nil || !(v >= 0 && v <= 1e9) {
			return w, fmt.Errorf("is a list such as %s, not %q", Defaults().Weights, text)
		}
		w[p] = v
		sum += v
	}
	if sum <= w[NoStart] {
		return w, fmt.Errorf("needs a weight for a pattern with a START, not %q", text)
	}
	return w, nil
}

func indexOf(name string) Pattern {
	for p, n := range patternNames {
		if n == name {
			return Pattern(p)
		}
	}
	return -1
}

// String is the form that ParseWeights reads.
func (w Weights) String() string {
	var parts []string
	for _, p := range Patterns() {
		if w[p] > 0 {
			parts = append(parts, fmt.Sprintf("%s=%g", p, w[p]))
		}
	}
	return strings.Join(parts, ",")
}

// MarshalText implements encoding.TextMarshaler.
func (w Weights) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Weights) UnmarshalText(b []byte) (err error) {
	*w, err = ParseWeights(string(b))
	return err
}

// choose turns a draw from [0, 1) into a pattern. A pattern that may not be used leaves its share to the next.
func (w Weights) choose(draw float64, allowed func(Pattern) bool) Pattern {
	var total, sum float64
	for _, v := range w {
		total += v
	}
	last := Valid
	for p, v := range w {
		sum += v
		if v == 0 || !allowed(Pattern(p)) {
			continue
		}
		last = Pattern(p)
		if draw < sum/total {
			return last
		}
	}
	return last
}
