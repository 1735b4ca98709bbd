// Package unit reads times and sizes as people write them: a number with a unit, or a bare number in a unit that the caller
// names. It also writes numbers for people.
package unit

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrInvalid means that a text is no time or no size.
var ErrInvalid = errors.New("not a number with a unit")

// longest is the longest time that is read: about 95 years.
const longest = 3e9 * float64(time.Second)

// Time reads a time of at least 0: "5s", "250ms", "1m30s", "2 min", or a bare number in the unit bare. A bare unit of 0
// demands that the text has a unit; 0 needs none.
func Time(text string, bare time.Duration) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		if bare == 0 && f != 0 {
			return 0, ErrInvalid
		}
		return scaled(f, float64(bare))
	}
	number, name := split(text)
	if f, err := strconv.ParseFloat(number, 64); err == nil {
		if scale, ok := words[strings.ToLower(name)]; ok {
			return scaled(f, float64(scale))
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || float64(d) > longest {
		return 0, ErrInvalid
	}
	return d, nil
}

func scaled(f, scale float64) (time.Duration, error) {
	if ns := f * scale; ns >= 0 && ns <= longest { // false for NaN
		return time.Duration(math.Round(ns)), nil
	}
	return 0, ErrInvalid
}

// Short writes a time of at least 1 µs with one unit, as Time reads it: "250us", "1.5ms", "90s"; 0 has none.
func Short(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d >= u.size {
			return strconv.FormatFloat(float64(d)/float64(u.size), 'f', -1, 64) + u.name
		}
	}
	return "0"
}

// words are the units of time.ParseDuration, and those that it does not have.
var words = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "usec": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "s": time.Second, "sec": time.Second,
	"m": time.Minute, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// Size reads a number of bytes: "4096", "64KiB", "32 MB", "1.5GiB". K, M and G alone are 1024, 1024² and 1024³ bytes.
func Size(text string) (int64, error) {
	number, name := split(strings.TrimSpace(text))
	scale, ok := sizes[strings.ToLower(name)]
	if !ok {
		return 0, ErrInvalid
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n >= 0 && n <= math.MaxInt64/scale {
		return n * scale, nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if f *= float64(scale); err != nil || !(f >= 0 && f < math.MaxInt64) || f != math.Trunc(f) {
		return 0, ErrInvalid
	}
	return int64(f), nil
}

var sizes = map[string]int64{
	"": 1, "b": 1, "k": 1 << 10, "kb": 1e3, "kib": 1 << 10, "m": 1 << 20, "mb": 1e6, "mib": 1 << 20, "g": 1 << 30, "gb": 1e9, "gib": 1 << 30,
}

// split divides a text after its number.
func split(text string) (number, name string) {
	end := len(text) - len(strings.TrimLeft(text, "+-.0123456789"))
	return text[:end], strings.TrimSpace(text[end:])
}
