package jsonscan_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

func TestParseErrors(t *testing.T) {
	f := func(text string, code jsonscan.Code, offset int) {
		t.Helper()
		_, err := jsonscan.Parse([]byte(text))
		var syntax *jsonscan.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: got %v, want a syntax error", text, err)
			return
		}
		if syntax.Code != code || syntax.Offset != offset {
			t.Errorf("%q: got code %d at %d, want code %d at %d", text, syntax.Code, syntax.Offset, code, offset)
		}
		if strings.Contains(syntax.Error(), "unknown reason") {
			t.Errorf("%q: code %d has no text", text, syntax.Code)
		}
	}
	f("", jsonscan.Empty, 0)
	f(" \n", jsonscan.Empty, 2)
	f("1 2", jsonscan.Trailing, 2)
	f("{}]", jsonscan.Trailing, 2)
	f("nope", jsonscan.BadValue, 1)
	f("[1,]", jsonscan.BadValue, 3)
	f("[tru]", jsonscan.BadValue, 4)
	f("[-]", jsonscan.BadValue, 2)
	f("[Nan]", jsonscan.BadValue, 3)
	f("[Infinite]", jsonscan.BadValue, 8)
	f("\ufeff{}", jsonscan.BadValue, 0)
	f("{ this is not json", jsonscan.MissingName, 2)
	f(`{"a":1,}`, jsonscan.MissingName, 7)
	f(`{"a" 1}`, jsonscan.MissingColon, 5)
	f(`{"a":1 "b":2}`, jsonscan.MissingBrace, 7)
	f(`{"a":1`, jsonscan.MissingBrace, 6)
	f(`{"a":1]`, jsonscan.MissingBrace, 6)
	f(`[1 2]`, jsonscan.MissingSquare, 3)
	f(`[01]`, jsonscan.MissingSquare, 2)
	f(`[1`, jsonscan.MissingSquare, 2)
	f(`["\u12x4"]`, jsonscan.BadHex, 2)
	f(`["\ud800\u12x4"]`, jsonscan.BadHex, 2)
	f(`["\ud800 "]`, jsonscan.BadSurrogate, 2)
	f(`["\ud800\u0041"]`, jsonscan.BadSurrogate, 2)
	f(`["a\q"]`, jsonscan.BadEscape, 3)
	f(`["abc`, jsonscan.MissingQuote, 5)
	f("[\"a\nb\"]", jsonscan.BadEscape, 3)
	f("[1e309]", jsonscan.TooBig, 1)
	f("[0e309]", jsonscan.TooBig, 1)
	f("["+strings.Repeat("9", 400)+"]", jsonscan.TooBig, 1)
	f("[1.]", jsonscan.NoFraction, 3)
	f("[1e]", jsonscan.NoExponent, 3)
	f("[1e+]", jsonscan.NoExponent, 4)
	f("[1e-x]", jsonscan.NoExponent, 4)
}

func TestParseAccepts(t *testing.T) {
	for _, text := range []string{
		"NaN", "-Inf", "Infinity", "[1, -0, 0.5e-400, 1E+2]", " {} ", `{"a":[[],{}],"b":null}`, `"\ud83d\ude00\u0000"`,
		"true\x00rest", "-1000e306", "-NaN", `"\udc00"`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		if _, err := jsonscan.Parse([]byte(text)); err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestWalk(t *testing.T) {
	v, err := jsonscan.Parse([]byte(` { "a" : [ 1 , "x]\\" , {"b":[]} , -2.5 ] , "\u0062\"" : true, "a": 7 } `))
	if err != nil {
		t.Fatal(err)
	}
	a, ok := v.Get("a")
	if !ok || a.Len() != 4 || a.Kind() != jsonscan.Array {
		t.Fatalf("a = %s, %v", a, ok)
	}
	var parts []string
	for e := range a.Elements() {
		parts = append(parts, string(e))
	}
	if got, want := strings.Join(parts, ";"), `1;"x]\\";{"b":[]};-2.5`; got != want {
		t.Errorf("elements %s, want %s", got, want)
	}
	if b, ok := v.Get(`b"`); !ok || !b.True() {
		t.Errorf("the escaped name was not found: %s", b)
	}
	if _, ok := v.Get("c"); ok {
		t.Error("found a member that is not there")
	}
	if got, want := string(v.Append(nil)), `{"a":[1,"x]\\",{"b":[]},-2.5],"\u0062\"":true,"a":7}`; got != want {
		t.Errorf("compact %s, want %s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	f := func(text string, i int64, isInt bool, u uint64, isUint bool) {
		t.Helper()
		v, err := jsonscan.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := v.Int64(); ok != isInt || (ok && got != i) {
			t.Errorf("%s: Int64 %d, %v", text, got, ok)
		}
		if got, ok := v.Uint64(); ok != isUint || (ok && got != u) {
			t.Errorf("%s: Uint64 %d, %v", text, got, ok)
		}
	}
	f("0", 0, true, 0, true)
	f("-0", 0, true, 0, true)
	f("-5", -5, true, 0, false)
	f("9223372036854775807", math.MaxInt64, true, math.MaxInt64, true)
	f("9223372036854775808", 0, false, 1<<63, true)
	f("-9223372036854775808", math.MinInt64, true, 0, false)
	f("-9223372036854775809", 0, false, 0, false)
	f("18446744073709551615", 0, false, math.MaxUint64, true)
	f("18446744073709551616", 0, false, 0, false)
	f("1.0", 0, false, 0, false)
	f("1e3", 0, false, 0, false)
	f("NaN", 0, false, 0, false)
	f(`"1"`, 0, false, 0, false)
}

// FuzzParse compares the checker with encoding/json: what that accepts we accept, except for numbers beyond a
// double, and every text is compacted to the same value.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\n"],"b":{"c":null}}`, "[NaN,-Inf]", `"\ud83d\ude00"`, "[1e400]", "{ x", `["\\\\"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := jsonscan.Parse(text)
		if err != nil {
			var syntax *jsonscan.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Fatalf("bad error %v", err)
			}
			if syntax.Code != jsonscan.TooBig && syntax.Code != jsonscan.BadSurrogate && json.Valid(text) {
				t.Fatalf("%q is valid: %v", text, err)
			}
			return
		}
		walk(t, v)
		compact := v.Append(nil)
		again, err := jsonscan.Parse(compact)
		if err != nil || string(again.Append(nil)) != string(compact) {
			t.Fatalf("%q does not survive compacting: %q, %v", text, compact, err)
		}
		if v.Kind() == jsonscan.String && json.Valid(v) {
			var want string
			if err := json.Unmarshal(v, &want); err != nil {
				t.Fatal(err)
			}
			if got := strings.ToValidUTF8(string(v.AppendText(nil)), "\ufffd"); strings.ToValidUTF8(want, "\ufffd") != got && !strings.Contains(want, "\ufffd") {
				t.Fatalf("%q reads as %q, want %q", v, got, want)
			}
		}
	})
}

func walk(t *testing.T, v jsonscan.Value) {
	for e := range v.Elements() {
		walk(t, e)
	}
	for n, m := range v.Members() {
		if n.Kind() != jsonscan.String {
			t.Fatalf("name %q", n)
		}
		walk(t, m)
	}
	if v.Kind() == jsonscan.Number {
		if _, ok := v.Float64(); !ok {
			t.Fatalf("number %q has no value", v)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte("[" + strings.Repeat(`{"INPUT0":[1,2,3,4.5],"name":"some text"},`, 1000) + "1]")
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := jsonscan.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
