package fault_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/refserver/fault"
)

// A time without a unit is in milliseconds.
func TestTimeOfAFault(t *testing.T) {
	f := func(text string, want time.Duration) {
		t.Helper()
		s, err := fault.Parse(text)
		if err != nil || s.For != want {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
	f("delay,for=50", 50*time.Millisecond)
	f("delay,for=0.5", 500*time.Microsecond)
	f("delay,for=2s", 2*time.Second)
	f("slow", 10*time.Millisecond)
	for _, text := range []string{"delay,for=-5", "delay,for=nan", "delay,for=1e300", "delay,for=x"} {
		if s, err := fault.Parse(text); err == nil {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// A fault that is read can be carried out: it has a period and a length.
func FuzzParse(f *testing.F) {
	f.Add("reset,every=100")
	f.Add("slow,for=1ms,every=2")
	f.Add("delay,for=-1s")
	f.Add("error,every=0")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := fault.Parse(text); err == nil && (s.Every < 1 || s.For <= 0) {
			t.Errorf("%q: %+v", text, s)
		}
	})
}
