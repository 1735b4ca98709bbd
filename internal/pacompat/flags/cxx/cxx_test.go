package cxx_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/flags/cxx"
)

// show renders a result so that one table serves all readers.
func show[T any](v T, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}

func TestIntegers(t *testing.T) {
	invalid, rng := cxx.ErrInvalid.Error(), cxx.ErrRange.Error()
	f := func(s, stoi, stoll, stoull, atoi string) {
		t.Helper()
		for _, c := range []struct{ name, got, want string }{
			{"Stoi", show(cxx.Stoi(s)), stoi},
			{"Stoll", show(cxx.Stoll(s)), stoll},
			{"Stoull", show(cxx.Stoull(s)), stoull},
			{"Atoi", strconv.Itoa(cxx.Atoi(s)), atoi},
		} {
			if c.got != c.want {
				t.Errorf("%s(%q) = %s, want %s", c.name, s, c.got, c.want)
			}
		}
	}
	f("10", "10", "10", "10", "10")
	f("10abc", "10", "10", "10", "10")
	f("29.5", "29", "29", "29", "29")
	f(" \t+7", "7", "7", "7", "7")
	f("0x10", "0", "0", "0", "0")
	f("1e3", "1", "1", "1", "1")
	f("", invalid, invalid, invalid, "0")
	f("abc", invalid, invalid, invalid, "0")
	f("-", invalid, invalid, invalid, "0")
	f("- 1", invalid, invalid, invalid, "0")
	f("-1", "-1", "-1", "18446744073709551615", "-1")
	f("2147483648", rng, "2147483648", "2147483648", "-2147483648")
	f("4294967297", rng, "4294967297", "4294967297", "1")
	f("9223372036854775808", rng, rng, "9223372036854775808", "-1")
	f("99999999999999999999", rng, rng, rng, "-1")
	f("-99999999999999999999", rng, rng, rng, "0")
}

func TestFloats(t *testing.T) {
	invalid, rng := cxx.ErrInvalid.Error(), cxx.ErrRange.Error()
	f := func(s, stod, stof string) {
		t.Helper()
		if got := show(cxx.Stod(s)); got != stod {
			t.Errorf("Stod(%q) = %s, want %s", s, got, stod)
		}
		if got := show(cxx.Stof(s)); got != stof {
			t.Errorf("Stof(%q) = %s, want %s", s, got, stof)
		}
	}
	f("2.5", "2.5", "2.5")
	f("-3", "-3", "-3")
	f(" +.5x", "0.5", "0.5")
	f("5.", "5", "5")
	f("1e", "1", "1")
	f("1e+", "1", "1")
	f("1e2z", "100", "100")
	f("0x1.8p1", "3", "3")
	f("0x10", "16", "16")
	f("0xg", "0", "0")
	f("infinity", "+Inf", "+Inf")
	f("-INF", "-Inf", "-Inf")
	f("NaN(1)", "NaN", "NaN")
	f("0e99", "0", "0")
	f("1e39", "1e+39", rng)
	f("1e400", rng, rng)
	f("1e-320", rng, rng)
	f("1e-999", rng, rng)
	f("1e-40", "1e-40", rng)
	f("", invalid, invalid)
	f(".", invalid, invalid)
	f("-.e1", invalid, invalid)
	f("x1", invalid, invalid)
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"1", "-1", " 0x1p3", "1e-999", "nan(", ".5e", "+inf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := strconv.ParseInt(s, 10, 32); err == nil {
			if got, err := cxx.Stoi(s); err != nil || int64(got) != n {
				t.Errorf("Stoi(%q) = %d, %v", s, got, err)
			}
		}
		d, err := cxx.Stod(s)
		if err != nil && !errors.Is(err, cxx.ErrInvalid) && !errors.Is(err, cxx.ErrRange) {
			t.Errorf("Stod(%q): %v", s, err)
		}
		if err == nil && d != 0 && !math.IsNaN(d) && !math.IsInf(d, 0) && math.Abs(d) < 0x1p-1022 {
			t.Errorf("Stod(%q) is subnormal", s)
		}
		cxx.Atoi(s)
		_, _ = cxx.Stof(s)
		_, _ = cxx.Stoull(s)
	})
}
