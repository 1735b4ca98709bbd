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
	v := storeTime(to, bare)
	if *to > 0 {
		v.Default = strconv.FormatFloat(float64(*to)/float64(bare), 'g', -1, 64)
	}
	return v
}

// TimeIn is Time for a field that holds the number of units, which is at most most.
func TimeIn(to *float64, bare time.Duration, most float64) Value {
	v := Func(func(text string) error {
		d, err := readTime(text, bare)
		f := float64(d) / float64(bare)
		if err == nil && f > most {
			err = fmt.Errorf("is a time of at most %g %s, not %q", most, unitName(bare), text)
		}
		if err == nil {
			*to = f
		}
		return err
	})
	v.Default = strconv.FormatFloat(*to, 'g', -1, 64)
	return v
}

// Duration stores a time of at least 0 that must have its unit, as 5s or 250ms.
func Duration(to *time.Duration) Value {
	v := storeTime(to, 0)
	if *to > 0 {
		v.Default = shortTime(*to)
	}
	return v
}

// shortTime writes a time without parts that are 0.
func shortTime(d time.Duration) string {
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

func storeTime(to *time.Duration, bare time.Duration) Value {
	return Func(func(text string) error {
		d, err := readTime(text, bare)
		if err == nil {
			*to = d
		}
		return err
	})
}

func readTime(text string, bare time.Duration) (time.Duration, error) {
	d, err := unit.Time(text, bare)
	switch {
	case err == nil:
		return d, nil
	case bare == 0:
		return 0, fmt.Errorf("is a time with its unit, as 5s or 250ms, not %q", text)
	}
	return 0, fmt.Errorf("is a time such as 5s or 250ms, or a number of %s, not %q", unitName(bare), text)
}

// unitName names the unit of bare numbers: seconds or milliseconds.
func unitName(d time.Duration) string {
	if d == time.Second {
		return "seconds"
	}
	return "milliseconds"
}

// Bytes stores a size from least to most bytes, as 4096, 64KiB or 32MB.
func Bytes[T int | int64](to *T, least, most T) Value {
	return Value{Default: strconv.FormatInt(int64(*to), 10), Set: func(text string) error {
		n, err := unit.Size(text)
		if err != nil || n < int64(least) || n > int64(most) {
			return fmt.Errorf("is a size from %d to %d bytes, such as 4096, 64KiB or 32MB, not %q", least, most, text)
		}
		*to = T(n)
		return nil
	}}
}
