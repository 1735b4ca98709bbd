package rjson

import (
	"encoding/json"
	"math"
	"testing"
)

// TestMistakes compares the texts and places of errors with those recorded from Triton 2.51.
func TestMistakes(t *testing.T) {
	for in, want := range map[string]string{
		``:               "The document is empty. at 0",
		`{"a"`:           "Missing a colon after a name of object member. at 4",
		`{"a":`:          "Invalid value. at 5",
		`{"a":1`:         "Missing a comma or '}' after an object member. at 6",
		`{"a":1,`:        "Missing a name for object member. at 7",
		`{a:1}`:          "Missing a name for object member. at 1",
		`[1 2]`:          "Missing a comma or ']' after an array element. at 3",
		`{"a":tru}`:      "Invalid value. at 8",
		`{"a":"x`:        "Missing a closing quotation mark in string. at 7",
		`{} x`:           "The document root must not be followed by other values. at 3",
		`{"a":1.}`:       "Miss fraction part in number. at 7",
		`{"a":-}`:        "Invalid value. at 6",
		`{"a":"\q"}`:     "Invalid escape character in string. at 6",
		`{"a":1e}`:       "Miss exponent in number. at 7",
		`{"a":"\ud800"}`: "The surrogate pair in string is invalid. at 6",
		`{"a":1e999}`:    "Number too big to be stored in double. at 5",
		`{"a":01}`:       "Missing a comma or '}' after an object member. at 6",
	} {
		if _, err := Parse([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

func TestValues(t *testing.T) {
	v, err := Parse([]byte(` {"n":-5,"u":18446744073709551615,"f":1.5e3,"s":"a\u00e9\n\ud83d\ude00","b":true,"l":[1,[2]],"z":null} `))
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := v.Find("n").Int(); n != -5 || !ok {
		t.Error("n")
	}
	if _, ok := v.Find("n").Uint(); ok {
		t.Error("a negative number is no unsigned one")
	}
	if u, ok := v.Find("u").Uint(); u != math.MaxUint64 || !ok {
		t.Error("u")
	}
	if f, ok := v.Find("f").Float(); f != 1500 || !ok {
		t.Error("f")
	}
	if s := v.Find("s").Text; s != "aé\n😀" {
		t.Errorf("s is %q", s)
	}
	if !v.Find("b").True || len(v.Find("l").Items) != 2 || v.Find("z").Kind != Null || v.Find("none") != nil {
		t.Error("b, l, z or none")
	}
}

func TestFloats(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1.5: "1.5", 2: "2.0", -3: "-3.0", 1e20: "100000000000000000000.0", 1e21: "1e21",
		float64(float32(1e30)): "1.0000000150474662e30", 1e-6: "0.000001", 1.5e-9: "1.5e-9", math.Inf(1): "null",
	} {
		if got := string(AppendFloat(nil, f)); got != want {
			t.Errorf("%v: got %s, want %s", f, got, want)
		}
	}
}

// FuzzParse checks that nothing crashes, and that what is JSON is accepted.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\u0041",null,true]}`, `[`, `"\ud83d\ude00"`, `-0.1e+5`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, err := Parse(in)
		var v any
		if err != nil && len(in) < 300 && !lone(in) && json.Unmarshal(in, &v) == nil {
			t.Fatalf("%s is JSON, but: %v", in, err)
		}
	})
}

// lone reports whether a text may hold half a surrogate pair, which encoding/json mends and Triton refuses.
func lone(in []byte) bool {
	for i := 0; i+1 < len(in); i++ {
		if in[i] == '\\' && in[i+1] == 'u' {
			return true
		}
	}
	return false
}
