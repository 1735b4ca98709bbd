package pace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// ReadIntervals reads one gap in microseconds a line. name is for messages.
func ReadIntervals(r io.Reader, name string) ([]time.Duration, error) {
	var gaps []time.Duration
	scan := bufio.NewScanner(r)
	for line := 1; scan.Scan(); line++ {
		text := strings.TrimSpace(scan.Text())
		us, err := strconv.ParseInt(text, 10, 64)
		if err != nil || us < 0 {
			return nil, fmt.Errorf("%s:%d: %q is not a gap in microseconds: write one whole number a line", name, line, text)
		}
		gaps = append(gaps, time.Duration(us)*time.Microsecond)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(gaps) == 0 {
		return nil, fmt.Errorf("file '%s' is empty", name)
	}
	if sum(gaps) == 0 {
		return nil, fmt.Errorf("%s: all gaps are 0: the rate would be without limit; use --concurrency-range for that", name)
	}
	return gaps, nil
}

func sum(gaps []time.Duration) time.Duration {
	var t time.Duration
	for _, g := range gaps {
		t += g
	}
	return t
}
