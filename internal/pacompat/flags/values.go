package flags

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/option"
)

// What perf_analyzer reads of the parts of a value that are numbers: it ignores what follows a number.
var (
	wholeNumber = regexp.MustCompile(`(^|:)\s*([-+]?[0-9]+)[^:]*`)
	anyNumber   = regexp.MustCompile(`(^|:)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)[^:]*`)
)

// ignoreRest makes a row that takes numbers ignore what follows them, with a warning.
func (r *raw) ignoreRest(row *option.Row) {
	number := wholeNumber
	switch {
	case row.Arg == "PCT" || row.Long == "request-rate-range":
		number = anyNumber
	case !slices.Contains([]string{"N", "TIME", "SIZE"}, row.Arg) && !strings.HasPrefix(row.Arg, "START"):
		return
	}
	set, name := row.To.Set, row.Name()
	row.To.Set = func(v string) error {
		read := number.ReplaceAllString(v, "$1$2")
		if read != strings.TrimSpace(v) {
			r.warn(fmt.Sprintf("%s %s is read as %s: text behind a number is ignored", name, v, read))
		}
		return set(read)
	}
}

// millis stores a time that is not below least milliseconds: in perf_analyzer mode a number of milliseconds, in redline profile
// also a time with its unit.
func (r *raw) millis(least int, to *time.Duration) option.Value {
	switch {
	case !r.compat && least > 0:
		return option.TimeAbove0(to, time.Millisecond)
	case !r.compat:
		return option.Time(to, time.Millisecond)
	}
	n := int(to.Milliseconds())
	return option.Int(&n, least).In("ms").Then(func(string) error {
		*to = time.Duration(n) * time.Millisecond
		return nil
	})
}

// bytes stores a size: in perf_analyzer mode a number of bytes, in redline profile also a size with its unit.
func (r *raw) bytes(to *int) option.Value {
	if r.compat {
		return option.Int(to, 0).In("bytes")
	}
	return option.Bytes(to, 0, math.MaxInt32)
}

// existing stores the name of a file that exists.
func existing(to *string) option.Value {
	return option.Parsed(to, func(v string) (string, error) {
		if st, err := os.Stat(v); err != nil || st.IsDir() {
			return "", fmt.Errorf("names a file, and there is no file %s", v)
		}
		return v, nil
	})
}

// oneOf reads a number that says by words what it does.
func oneOf(v string, numbers ...string) (int, error) {
	i := slices.Index(numbers, strings.TrimSpace(v))
	if i < 0 {
		return 0, fmt.Errorf("is one of %s, not %q", strings.Join(numbers, ", "), v)
	}
	return strconv.Atoi(numbers[i])
}

// percent reads a percentage: redline profile also takes "10%".
func (r *raw) percent(v string) (float64, error) {
	if !r.compat {
		v = strings.TrimSuffix(v, "%")
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f < 0 {
		return 0, fmt.Errorf("is a percentage of at least 0, not %q", v)
	}
	return f, nil
}

// rangeOf reads START, START:END or START:END:STEP; parts that are missing leave their numbers as they are.
func rangeOf[T int | float64](v string, read func(string) (T, error), parts ...*T) error {
	texts := strings.Split(v, ":")
	if len(texts) > len(parts) {
		return fmt.Errorf("is START, START:END, START:END:STEP or a list, such as 8, 1:16:4 or 1,4,16, not %q", v)
	}
	for i, text := range texts {
		n, err := read(strings.TrimSpace(text))
		if err != nil {
			return err
		}
		*parts[i] = n
	}
	return nil
}

// level reads a concurrency, or a step of them. In perf_analyzer "-1" is the largest number.
func level(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n > math.MaxInt32 {
		return 0, fmt.Errorf("has the whole numbers of requests in flight, not %q", v)
	}
	if n < 0 {
		n = math.MaxInt32
	}
	return n, nil
}

// rate reads a number of requests a second.
func rate(v string) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("has numbers of requests a second, not %q", v)
	}
	return f, nil
}
