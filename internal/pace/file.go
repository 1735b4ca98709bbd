package pace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// ReadIntervals reads one gap in microseconds a line. name is for messages. A lenient reader ends a number at the
// first character that does not belong to it, as C's strtol does.
func ReadIntervals(r io.Reader, name string, lenient bool) ([]time.Duration, error) {
	var gaps []time.Duration
	var total time.Duration
	scan := bufio.NewScanner(r)
	for line := 1; scan.Scan(); line++ {
		text := strings.TrimSpace(scan.Text())
		digits := text
		if lenient {
			digits = text[:leadingInt(text)]
		}
		us, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || us < 0 {
			return nil, fmt.Errorf("%s:%d: %q is not a gap in microseconds: write one whole number a line", name, line, text)
		}
		if us > int64((math.MaxInt64-total)/time.Microsecond) {
			return nil, fmt.Errorf("%s:%d: the gaps up to here are longer than %v together", name, line, time.Duration(math.MaxInt64))
		}
		gaps = append(gaps, time.Duration(us)*time.Microsecond)
		total += gaps[len(gaps)-1]
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(gaps) == 0 {
		return nil, fmt.Errorf("file '%s' is empty", name)
	}
	if total == 0 {
		return nil, fmt.Errorf("%s: all gaps are 0: the rate would be without limit; use --concurrency-range for that", name)
	}
	return gaps, nil
}

// leadingInt is the length of the number that text begins with.
func leadingInt(text string) int {
	i := 0
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		i++
	}
	return i
}

func sum(gaps []time.Duration) time.Duration {
	var t time.Duration
	for _, g := range gaps {
		t += g
	}
	return t
}
