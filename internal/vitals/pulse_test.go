package vitals

import (
	"testing"
	"time"
)

func TestPulseKeepsLongStandstills(t *testing.T) {
	p := &Pulse{}
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	p.note(ms(0), ms(20))
	p.note(ms(20), ms(130))    // 90 ms too late: no more than a busy machine
	p.note(ms(130), ms(3150))  // 3 s
	p.note(ms(3150), ms(3400)) // 230 ms
	f := func(from, to int64, want time.Duration) {
		t.Helper()
		if got := p.Longest(ms(from), ms(to)); got != want {
			t.Errorf("from %d to %d ms: %s, want %s", from, to, got, want)
		}
	}
	f(0, 5000, 3*time.Second)
	f(0, 140, 0)
	f(200, 300, 3*time.Second) // within it
	f(3200, 5000, 230*time.Millisecond)
	f(3400, 5000, 0)
}
