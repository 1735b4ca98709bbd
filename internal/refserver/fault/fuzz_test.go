package fault_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/refserver/fault"
)

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
