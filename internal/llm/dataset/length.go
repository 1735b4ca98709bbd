package dataset

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Lengths is a distribution of whole numbers. The zero value is none.
type Lengths struct {
	Kind LengthKind `json:"kind,omitzero"`
	Mean float64    `json:"mean,omitzero"`
	Std  float64    `json:"stddev,omitzero"`
	// Min and Max bound each draw; 0: at least 1, and no upper bound. They are the range of Uniform.
	Min int `json:"min,omitzero"`
	Max int `json:"max,omitzero"`
}

// LengthKind is the shape of a distribution.
type LengthKind uint8

// The shapes. Normal with a deviation of 0 is fixed.
const (
	Normal LengthKind = iota
	LogNormal
	Uniform
)

// MarshalText implements encoding.TextMarshaler.
func (k LengthKind) MarshalText() ([]byte, error) {
	return []byte([...]string{"normal", "lognormal", "uniform"}[k]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *LengthKind) UnmarshalText(b []byte) (err error) {
	*k, err = ParseLengthKind(string(b))
	return err
}

// ParseLengthKind reads a shape's name: normal, lognormal, uniform or fixed.
func ParseLengthKind(name string) (LengthKind, error) {
	switch strings.ToLower(name) {
	case "", "normal", "fixed":
		return Normal, nil
	case "lognormal":
		return LogNormal, nil
	case "uniform":
		return Uniform, nil
	}
	return 0, fmt.Errorf("is fixed, normal, lognormal or uniform, not %q", name)
}

// Around makes a distribution uniform from mean × (1 − share) to mean × (1 + share), like vLLM's benchmark.
func (l *Lengths) Around(share float64) {
	if l.Mean <= 0 {
		return
	}
	l.Kind, l.Min, l.Max = Uniform, max(1, int(math.Floor(l.Mean*(1-share)))), int(math.Ceil(l.Mean*(1+share)))
}

// Fixed is always n.
func Fixed(n int) Lengths { return Lengths{Mean: float64(n)} }

// Set reports whether there is a distribution.
func (l Lengths) Set() bool { return l.Mean > 0 || l.Max > 0 }

// Draw is one length, at least Min, or 1.
func (l Lengths) Draw(r *rand.Rand) int {
	v := l.Mean
	switch {
	case l.Kind == Uniform && l.Max > 0:
		v = float64(max(l.Min, 0) + r.IntN(max(l.Max-max(l.Min, 0), 0)+1))
	case l.Kind == Uniform: // the width follows from the deviation
		half := l.Std * math.Sqrt(3)
		v += (2*r.Float64() - 1) * half
	case l.Std <= 0:
	case l.Kind == LogNormal && l.Mean > 0:
		s2 := math.Log1p(l.Std * l.Std / (l.Mean * l.Mean))
		v = math.Exp(math.Log(l.Mean) - s2/2 + math.Sqrt(s2)*r.NormFloat64())
	default:
		v += l.Std * r.NormFloat64()
	}
	n := int(math.Round(min(v, 1<<31)))
	if l.Max > 0 {
		n = min(n, l.Max)
	}
	return max(n, l.Min, 1)
}

// valid returns the first error of the distribution.
func (l Lengths) valid(what string) error {
	switch {
	case math.IsNaN(l.Mean) || l.Mean < 0 || l.Mean > 1<<30:
		return fmt.Errorf("the mean of %s is %v; it must be between 0 and 2^30", what, l.Mean)
	case math.IsNaN(l.Std) || l.Std < 0 || l.Std > 1<<30:
		return fmt.Errorf("the deviation of %s is %v; it must be between 0 and 2^30", what, l.Std)
	case l.Max > 0 && l.Min > l.Max:
		return fmt.Errorf("%s: the minimum %d is above the maximum %d", what, l.Min, l.Max)
	}
	return nil
}

// pair is one part of a mixture of input and output lengths.
type pair struct {
	in, out Lengths
	upTo    float64 // share of this part and all earlier parts
}

// parsePairs reads a mixture: "256,128:40;512,256:60", deviations after a bar as "256|10,128|5:100", the same in
// brackets as "[(256,128):40,(512,256):60]", or JSON {"pairs":[{"isl":256,"osl":128,"prob":40}]}.
func parsePairs(text string) ([]pair, error) {
	text = strings.TrimSpace(text)
	var list []pair
	var err error
	switch {
	case strings.HasPrefix(text, "{"):
		list, err = pairsJSON(text)
	case strings.HasPrefix(text, "["):
		inner := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		inner = strings.ReplaceAll(strings.ReplaceAll(inner, " ", ""), ",(", ";(")
		list, err = pairsText(strings.NewReplacer("(", "", ")", "").Replace(inner))
	default:
		list, err = pairsText(text)
	}
	if err != nil {
		return nil, fmt.Errorf("sequence distribution %q: %w; write input,output:percent;… as in 256,128:40;512,256:60", text, err)
	}
	sum := 0.0
	for i := range list {
		sum += list[i].upTo
		list[i].upTo = sum
	}
	if math.Abs(sum-100) > 1e-4 {
		return nil, fmt.Errorf("sequence distribution %q: the percentages add up to %v, not to 100", text, sum)
	}
	return list, nil
}

func pairsText(text string) ([]pair, error) {
	var list []pair
	for part := range strings.SplitSeq(strings.Trim(text, "; "), ";") {
		lengths, share, ok := strings.Cut(part, ":")
		in, out, ok2 := strings.Cut(lengths, ",")
		if !ok || !ok2 {
			return nil, fmt.Errorf("%q is not input,output:percent", part)
		}
		var p pair
		var err error
		if p.in, err = lengthText(in); err != nil {
			return nil, err
		}
		if p.out, err = lengthText(out); err != nil {
			return nil, err
		}
		if p.upTo, err = strconv.ParseFloat(strings.TrimSpace(share), 64); err != nil || !(p.upTo >= 0 && p.upTo <= 100) {
			return nil, fmt.Errorf("%q is not a percentage", share)
		}
		list = append(list, p)
	}
	return list, nil
}

// lengthText reads a mean, with a deviation after a bar.
func lengthText(text string) (Lengths, error) {
	mean, std, has := strings.Cut(strings.TrimSpace(text), "|")
	n, err := strconv.Atoi(mean)
	if err != nil || n <= 0 {
		return Lengths{}, fmt.Errorf("%q is not a length", text)
	}
	l := Fixed(n)
	if has {
		if l.Std, err = strconv.ParseFloat(std, 64); err != nil {
			return Lengths{}, fmt.Errorf("%q is not a deviation", std)
		}
	}
	return l, l.valid("a length")
}

func pairsJSON(text string) ([]pair, error) {
	var doc struct {
		Pairs []struct {
			ISL    int     `json:"isl"`
			ISLStd float64 `json:"isl_stddev"`
			OSL    int     `json:"osl"`
			OSLStd float64 `json:"osl_stddev"`
			Prob   float64 `json:"prob"`
		} `json:"pairs"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	var list []pair
	for _, e := range doc.Pairs {
		p := pair{Lengths{Mean: float64(e.ISL), Std: e.ISLStd}, Lengths{Mean: float64(e.OSL), Std: e.OSLStd}, e.Prob}
		if e.ISL <= 0 || e.OSL <= 0 || !(e.Prob >= 0 && e.Prob <= 100) || p.in.valid("isl") != nil || p.out.valid("osl") != nil {
			return nil, fmt.Errorf("isl %d, osl %d, prob %v is not a pair", e.ISL, e.OSL, e.Prob)
		}
		list = append(list, p)
	}
	return list, nil
}

// drawPair picks a part of the mixture by its share.
func drawPair(list []pair, r *rand.Rand) pair {
	v := r.Float64() * list[len(list)-1].upTo
	for _, p := range list {
		if v < p.upTo {
			return p
		}
	}
	return list[len(list)-1]
}
