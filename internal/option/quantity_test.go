package option

import (
	"testing"
	"time"
)

func TestTimesAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 10 * time.Second: "10s"} {
		if got := shortTime(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}

func TestSizesAreShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1000: "1000", 100 << 10: "100KiB", 32 << 20: "32MiB", 1 << 40: "1024GiB"} {
		if got := shortSize(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
