package unit_test

import (
	"math"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/unit"
)

func TestTime(t *testing.T) {
	f := func(text string, bare, want time.Duration) {
		t.Helper()
		if got, err := unit.Time(text, bare); err != nil || got != want {
			t.Errorf("Time(%q, %s) = %s, %v, want %s", text, bare, got, err, want)
		}
	}
	f("5s", time.Millisecond, 5*time.Second)
	f("5000", time.Millisecond, 5*time.Second)
	f("1.5", time.Second, 1500*time.Millisecond)
	f("2 min", time.Second, 2*time.Minute)
	f("1m30s", 0, 90*time.Second)
	f("250MS", 0, 250*time.Millisecond)
	f("3e2", time.Millisecond, 300*time.Millisecond)
	f("100usec", 0, 100*time.Microsecond)
	f("0", 0, 0)
	for _, text := range []string{"", "s", "5 apples", "-1", "-5s", "NaN", "inf", "1e300", "5s5", "0x5"} {
		if got, err := unit.Time(text, time.Second); err == nil {
			t.Errorf("Time(%q) = %s, want an error", text, got)
		}
	}
	if got, err := unit.Time("5", 0); err == nil {
		t.Errorf(`Time("5", 0) = %s, want an error: the unit is missing`, got)
	}
}

func TestShort(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := unit.Short(d); got != want {
			t.Errorf("Short(%v) = %s, want %s", d, got, want)
		}
		if back, err := unit.Time(want, 0); err != nil || back != d {
			t.Errorf("%s reads back as %v, %v", want, back, err)
		}
	}
	f(0, "0")
	f(time.Microsecond, "1us")
	f(1500*time.Microsecond, "1.5ms")
	f(90*time.Second, "90s")
}

func TestSize(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		if got, err := unit.Size(text); err != nil || got != want {
			t.Errorf("Size(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	f("4096", 4096)
	f("64KiB", 65536)
	f("64k", 65536)
	f("32 MB", 32_000_000)
	f("1.5GiB", 3<<29)
	f("0", 0)
	f("9223372036854775807", 1<<63-1)
	for _, text := range []string{"", "KiB", "-1", "1.5", "5 apples", "1e3", "99999999999GiB", "1.0000001k"} {
		if got, err := unit.Size(text); err == nil {
			t.Errorf("Size(%q) = %d, want an error", text, got)
		}
	}
}

// Numbers for people have no exponent, however large they are.
func TestDigits(t *testing.T) {
	f := func(v float64, n int, want string) {
		t.Helper()
		if got := unit.Digits(v, n); got != want {
			t.Errorf("Digits(%g, %d) = %s, want %s", v, n, got, want)
		}
	}
	f(0, 4, "0")
	f(12345.6, 4, "12346")
	f(-12345.6, 4, "-12346")
	f(1e6, 3, "1000000")
	f(123.456, 4, "123.5")
	f(999.96, 4, "1000")
	f(1.5, 4, "1.5")
	f(10, 4, "10")
	f(0.00012345, 3, "0.000123")
	f(math.Inf(1), 4, "+Inf")
}

func TestCount(t *testing.T) {
	if got := unit.Count(0, "core") + ", " + unit.Count(1, "core") + ", " + unit.Count(uint64(2), "request"); got != "0 cores, 1 core, 2 requests" {
		t.Error(got)
	}
}

func TestPython(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := unit.Python(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	f(0, "0.0")
	f(2, "2.0")
	f(0.1, "0.1")
	f(-1.5, "-1.5")
	f(0.0001, "0.0001")
	f(0.00001, "1e-05")
	f(1234567890123456, "1234567890123456.0")
	f(1e16, "1e+16")
	f(1753.8381768764373, "1753.8381768764373")
	f(0.03435562758944755, "0.03435562758944755")
	f(math.NaN(), "nan")
	f(math.Inf(1), "inf")
	f(math.Inf(-1), "-inf")
}

func TestSpan(t *testing.T) {
	f := func(ns float64, want string) {
		t.Helper()
		if got := unit.Span(ns); got != want {
			t.Errorf("Span(%g) = %s, want %s", ns, got, want)
		}
	}
	f(0, "0")
	f(7, "7.00 ns")
	f(999.4e3, "999 µs")
	f(999.6e3, "1.00 ms")
	f(9.996e6, "10.0 ms")
	f(74.52e6, "74.5 ms")
	f(-3.2e6, "-3.20 ms")
	f(30.2e9, "30.2 s")
	f(1234.5e9, "1,234 s")
}
