package option

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/unit"
)

// Time stores a time of at least 0 with its unit, as 5s or 250ms. A bare number counts in the unit bare, a second or a
// millisecond.
func Time(to *time.Duration, bare time.Duration) Value {
	v := Func(func(text string) error {
		d, err := readTime(text, bare)
		if err == nil {
			*to = d
		}
		return err
	}).In(units[bare].short)
	v.Default = shortTime(*to)
	return v
}

// TimeAbove0 is Time for a time that must not be 0.
func TimeAbove0(to *time.Duration, bare time.Duration) Value {
	return Time(to, bare).Then(func(text string) error {
		if *to > 0 {
			return nil
		}
		return fmt.Errorf("is a time above 0, such as 5s or 250ms, not %q", text)
	})
}

// TimeIn is Time for a field that holds the number of units, which is at most most.
func TimeIn(to *float64, bare time.Duration, most float64) Value {
	v := Func(func(text string) error {
		d, err := readTime(text, bare)
		f := float64(d) / float64(bare)
		if err == nil && f > most {
			err = fmt.Errorf("is a time of at most %g %s, not %q", most, units[bare].long, text)
		}
		if err == nil {
			*to = f
		}
		return err
	}).In(units[bare].short)
	v.Default = shortTime(time.Duration(*to * float64(bare)))
	return v
}

// shortTime writes a time without parts that are 0; the time 0 is "0".
func shortTime(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

func readTime(text string, bare time.Duration) (time.Duration, error) {
	d, err := unit.Time(text, bare)
	if err != nil {
		return 0, fmt.Errorf("is a time such as 5s or 250ms, or a number of %s, not %q", units[bare].long, text)
	}
	return d, nil
}

// units name the units of bare numbers.
var units = map[time.Duration]struct{ short, long string }{time.Second: {"s", "seconds"}, time.Millisecond: {"ms", "milliseconds"}}

// Bytes stores a size from least to most bytes, as 4096, 64KiB or 32MB.
func Bytes[T int | int64](to *T, least, most T) Value {
	return Value{Default: shortSize(int64(*to)), Unit: "bytes", Set: func(text string) error {
		n, err := unit.Size(text)
		if err != nil || n < int64(least) || n > int64(most) {
			return fmt.Errorf("is a size from %d to %d bytes, such as 4096, 64KiB or 32MB, not %q", least, most, text)
		}
		*to = T(n)
		return nil
	}}
}

// shortSize writes a size in the largest unit of which it is a whole number.
func shortSize(n int64) string {
	name := ""
	for _, larger := range []string{"KiB", "MiB", "GiB"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, name = n/1024, larger
	}
	return strconv.FormatInt(n, 10) + name
}
