package secret_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/secret"
)

func TestRedactJSON(t *testing.T) {
	f := func(header, text, want string) {
		t.Helper()
		var s secret.Set
		s.Collect(secret.Header, header)
		got := string(s.RedactJSON([]byte(text)))
		if d := cmp.Diff(got, want); d != "" {
			t.Errorf("%s (-got +want):\n%s", header, d)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: not JSON: %s", header, got)
		}
	}
	f("X-Key: function", `{"function":1,"text":"a function of x","list":["function","malfunction"]}`, `{"function":1,"text":"a *** of x","list":["***","mal***"]}`)
	f("X-Key: const", `{"const":"const","a const":2,"b":"constant"}`, `{"const":"***","a ***":2,"b":"constant"}`)
	// A secret of signs that stand between the strings leaves these signs.
	f(`X-Key: ","b":"`, `{"a":"x","b":"y","c":"has \",\"b\":\" inside"}`, `{"a":"x","b":"y","c":"has *** inside"}`)
	f("X-Key: ]}],[", `{"a":[{"b":[1]}],"c":"]}],["}`, `{"a":[{"b":[1]}],"c":"***"}`)
	// A letter of an escape sequence is not the first letter of a secret.
	f("X-Key: nsecret-1234", `["\nsecret-1234","\\nsecret-1234"]`, `["\nsecret-1234","\\***"]`)
	f("X-Key: nsecret-1234", `["x nsecret-1234"]`, `["x ***"]`)
	// A short secret is replaced after its name only.
	f("X-Key: abc", `{"X-Key":"abc","other":"abc","text":"X-Key: abc"}`, `{"X-Key":"***","other":"abc","text":"X-Key: ***"}`)
	f("X-Key: true", `{"a":true,"X-Key":"true","b":null}`, `{"a":true,"X-Key":"***","b":null}`)
	f("X-Key: 123456789012345", `{"a":123456789012345,"b":[1,-123456789012345],"c":"123456789012345"}`, `{"a":"***","b":[1,"***"],"c":"***"}`)
	f("X-Key: <b>&amp;", `["\u003cb\u003e\u0026amp;","<b>"]`, `["***","\u003cb\u003e"]`)
	f("X-Key: long-enough-a-key", `["... long-enough-a...","é"]`, `["... ***...","é"]`)
}

// Without secrets the text is the same.
func TestRedactJSONWithoutSecrets(t *testing.T) {
	var none *secret.Set
	text := []byte(`{"a":"<b>"}`)
	if got := none.RedactJSON(text); &got[0] != &text[0] {
		t.Errorf("%s", got)
	}
}

// Whatever a secret is, the text stays JSON, keeps its form, and no string of it has the secret.
func FuzzRedactJSON(f *testing.F) {
	f.Add("function", "a function", "key")
	f.Add(`":","":"`, `x":"y`, "a")
	f.Add(`\\\\\\\\`, `\\`, "a")
	f.Add("0123456789012345x", "0123456789012345", "a")
	f.Fuzz(func(t *testing.T, key, text, name string) {
		if len(key) < 8 || strings.TrimSpace(key) != key || strings.Contains(secret.Mask, key) || strings.ToValidUTF8(key, "") != key {
			return
		}
		if _, err := strconv.ParseFloat(key, 64); err == nil {
			return // a short number is replaced after its name alone
		}
		var s secret.Set
		s.Add(key)
		type form struct {
			Map  map[string]string
			List []string
			Next *form
			N    int
		}
		b, err := json.Marshal(form{Map: map[string]string{name: text}, List: []string{text, key, text + key}, Next: &form{List: []string{key + text}}, N: 12})
		if err != nil {
			t.Fatal(err)
		}
		var got form
		if err := json.Unmarshal(s.RedactJSON(b), &got); err != nil {
			t.Fatalf("%v: %s", err, s.RedactJSON(b))
		}
		if len(got.List) != 3 || len(got.Map) != 1 || got.Next == nil || len(got.Next.List) != 1 || got.N != 12 {
			t.Fatalf("%+v", got)
		}
		if !strings.Contains(got.List[1], secret.Mask) {
			t.Errorf("%q became %q", key, got.List[1])
		}
	})
}

// Values that lack their secrets are removed; the others stay as they were written.
func TestDropMasked(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got, err := secret.DropMasked([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%s, want %s, %v", got, want, err)
		}
	}
	f(`{ "b": 1, "a": 2 }`, `{ "b": 1, "a": 2 }`)
	f(`{"key":"***","n":18446744073709551615,"x":{"b":1,"a":2}}`, `{"n":18446744073709551615,"x":{"b":1,"a":2}}`)
	f(`{"headers":[{"name":"A","value":"***"},{"name":"B","value":"x"}],"urls":["http://***@h","h"]}`, `{"headers":[{"name":"B","value":"x"}],"urls":["h"]}`)
	f(`{"body":{"token":"***","a":1}}`, `{"body":{"a":1}}`)
	if _, err := secret.DropMasked([]byte(`{"a":"***"`)); err == nil {
		t.Error("half a text passed")
	}
}
