package clock_test

import (
	"fmt"
	"testing"

	"github.com/redline-bench/redline/internal/clock"
)

func TestEntriesOfOneTimeStandApart(t *testing.T) {
	var list []byte
	var last int64
	for _, at := range []int64{1000, 1000, 1050, 5000} {
		list, last = clock.AppendWall(list, last, at)
	}
	w := clock.Wall(0)
	if want := fmt.Sprintf("%d,%d,%d,%d", w+1000, w+1100, w+1200, w+5000); string(list) != want || last != w+5000 {
		t.Errorf("%s, want %s", list, want)
	}
}
