package pace_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
)

// Whatever a file of intervals holds, gaps are never negative and their sum is a length of time.
func FuzzReadIntervals(f *testing.F) {
	f.Add([]byte("100\n200\r\n300"), false)
	f.Add([]byte("+5x\n"), true)
	f.Add([]byte("0\n"), false)
	f.Add([]byte("9223372036854775807\n2\n"), false)
	f.Add([]byte("9223372036854775\n9223372036854775\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, lenient bool) {
		gaps, err := pace.ReadIntervals(bytes.NewReader(text), "file", lenient)
		if err != nil {
			return
		}
		var sum time.Duration
		for _, g := range gaps {
			sum += g
			if g < 0 || sum < 0 {
				t.Fatalf("gap %v, sum %v", g, sum)
			}
		}
		if sum == 0 {
			t.Fatal("all gaps are 0")
		}
	})
}
