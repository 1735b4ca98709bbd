package metric_test

import (
	"math"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

func TestSlices(t *testing.T) {
	var list []metric.Slice
	s := metric.NewSlicer(time.Second, metric.Options{}, func(s *metric.Slice) { list = append(list, *s) })
	for i := range 50 {
		at := int64(i) * int64(100*time.Millisecond)
		s.Add(&llm.Sample{Sent: at, End: at + 1, Chunks: []llm.Chunk{{At: at + 1}}})
	}
	if len(list) != 3 {
		t.Errorf("%d slices are written before the end", len(list))
	}
	s.Finish(math.MaxInt64)
	if len(list) != 5 {
		t.Fatalf("%d slices", len(list))
	}
	for i, sl := range list {
		if sl.End-sl.Begin != int64(time.Second) || i > 0 && sl.Begin != list[i-1].End {
			t.Errorf("slice %d from %d to %d", i, sl.Begin, sl.End)
		}
	}
}
