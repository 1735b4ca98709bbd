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
