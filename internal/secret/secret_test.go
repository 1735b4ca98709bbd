package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/secret"
)

func TestEverySpellingIsReplaced(t *testing.T) {
	for _, key := range []string{"sk-0123456789abcdef", `q"u\o<t&e'-key`, "päss wörd=+/", "s3cret", "a%20b&c=d"} {
		var s secret.Set
		s.Add(key)
		encoded, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := json.Marshal(string(encoded))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			key, string(encoded), string(twice), html.EscapeString(key), url.QueryEscape(key), url.PathEscape(key), strings.ToLower(url.QueryEscape(strings.ToLower(key))),
			(&url.URL{Scheme: "http", Host: "h", User: url.UserPassword("me", key)}).String(), `"` + strings.ReplaceAll(key, `"`, `""`) + `"`,
			"Basic " + base64.StdEncoding.EncodeToString([]byte(key+":")),
		} {
			if strings.Contains(text, strings.ToLower(key)) && key != strings.ToLower(key) {
				continue // the lower-case escapes are requested only where the key has no capitals
			}
			got := s.Redact("before " + text + ", after")
			if !strings.Contains(got, secret.Mask) || strings.Contains(got, key) {
				t.Errorf("%q: %s", text, got)
			}
			if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, ", after") {
				t.Errorf("%q: what is around it has changed: %s", text, got)
			}
		}
	}
}

func TestCollect(t *testing.T) {
	f := func(k secret.Kind, value, text, want string) {
		t.Helper()
		var s secret.Set
		s.Collect(k, value)
		if got := s.Redact(text); got != want {
			t.Errorf("%s: %q becomes %q, want %q", value, text, got, want)
		}
	}
	f(secret.Header, "Authorization: Bearer KEY12345", "no KEY12345 here, Bearer KEY12345", "no *** here, Bearer ***")
	f(secret.Header, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:hunter22")), "pass hunter22", "pass ***")
	f(secret.Header, "Cookie: a=1; sid=abcdef123456", "sid is abcdef123456", "sid is ***")
	f(secret.Header, "Accept: application/json", "application/json", "application/json")
	f(secret.Header, "KEY12345-without-a-name", "KEY12345-without-a-name", "***")
	f(secret.Header, `{"Authorization":"Bearer KEY12345","Accept":"text-plain"}`, "Bearer KEY12345 KEY12345 text-plain", "Bearer *** *** text-plain")
	f(secret.URL, "http://me:hunter22@host:1/v1", "dial http://me:hunter22@host:1: hunter22", "dial http://me:***@host:1: ***")
	f(secret.URL, "a:1,http://KEY12345@b", "KEY12345@b a:1", "***@b a:1")
	f(secret.URL, "http://me:p%40ssw0rd%21@host", "p@ssw0rd! p%40ssw0rd%21", "*** ***")
	f(secret.URL, "http://host/x?api_key=KEY12345&v=1", "KEY12345 v=1 1", "*** v=*** 1")
	f(secret.URL, "http://someone:hunter22@host", "http://someone:hunter22@host", "http://***:***@host")
	f(secret.URL, "http://host/x", "http://host/x", "http://host/x")
	f(secret.Pair, "api_key:KEY12345", "KEY12345", "***")
	f(secret.Pair, "temperature:KEY12345", "KEY12345", "KEY12345")
	f(secret.Pair, `{"a":{"token":"KEY12345"},"b":"plain-text"}`, "KEY12345 plain-text", "*** plain-text")
	f(secret.Pair, "max_tokens:123456789012345", "123456789012345", "123456789012345")
	f(secret.Typed, "api_key:hunter22:string", "hunter22 hunter22:string", "*** ***:string")
	f(secret.Typed, "priority:hunter22:string", "hunter22", "hunter22")
	f(secret.None, "KEY12345", "KEY12345", "KEY12345")
}

// A command line is written with the values of its options masked, however short they are.
func TestPublicOfShortValues(t *testing.T) {
	f := func(k secret.Kind, value, want string) {
		t.Helper()
		if got := secret.Public(k, value); got != want {
			t.Errorf("%s becomes %s, want %s", value, got, want)
		}
	}
	f(secret.Whole, "k", "***")
	f(secret.Header, "X-Team: k", "X-Team: ***")
	f(secret.Header, `{"X-Team":"k"}`, `{"X-Team":"***"}`)
	f(secret.URL, "http://u:k@host:1/x?a=k", "http://***@host:1/x?***")
	f(secret.Pair, "api_key:k", "api_key:***")
	f(secret.Pair, "max_tokens:9", "max_tokens:9")
	f(secret.Typed, "api_key:k:string", "api_key:***:string")
	f(secret.Typed, "api_key:k", "api_key:***")
	f(secret.Typed, "priority:k:string", "priority:k:string")
	f(secret.Option, "--password=k", "--password=***")
}

// A secret that may as well be a word or a measured number must not spoil the output.
func TestShortSecretsAndNumbers(t *testing.T) {
	f := func(header, text, want string) {
		t.Helper()
		var s secret.Set
		s.Collect(secret.None, "llama-3-8b")
		s.Collect(secret.Header, header)
		if got := s.Redact(text); got != want {
			t.Errorf("%s: %q becomes %q, want %q", header, text, got, want)
		}
	}
	f("A: 1", `{"n":1,"A":"1"}`, `{"n":1,"A":"***"}`)
	f("X-Key: 123456", `{"latency":123456} X-Key: 123456`, `{"latency":123456} X-Key: ***`)
	f("X-Key: true", `{"ok":true}`, `{"ok":true}`)
	f("X-Env: prod1", `prod11, "prod1"`, `prod11, "***"`)
	f("X-Env: prod", `<script id="prod"> "X-Env":"prod", x-env: prod`, `<script id="prod"> "X-Env":"***", x-env: ***`)
	f("X-Model: llama-3-8b", `"llama-3-8b" X-Model: llama-3-8b`, `"llama-3-8b" X-Model: ***`)
	f("Authorization: Bearer llama-3-8b", `"llama-3-8b"`, `"***"`)
	f("X-Key: 123456789012345", `123456789012345`, `***`)
}

// A secret that is also a key or a word of the program's files must not damage them.
func TestFilesStayReadable(t *testing.T) {
	f := func(header, text, want string) {
		t.Helper()
		s := secret.Set{Words: func() []string { return []string{"client-limited", "concurrency"} }}
		s.Reserve("streaming")
		s.Collect(secret.Header, header)
		if got := s.Redact(text); got != want {
			t.Errorf("%s: %q becomes %q, want %q", header, text, got, want)
		}
		for size := 1; size < len(text); size++ {
			var b bytes.Buffer
			w := s.Writer(&b)
			for i := 0; i < len(text); i += size {
				if _, err := w.Write([]byte(text[i:min(i+size, len(text))])); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil || b.String() != want {
				t.Errorf("%s, in parts of %d: %q, %v", header, size, b.String(), err)
			}
		}
	}
	f("Authorization: levels", `{"levels":[1],"said":"levels","x":"levels: a","bad levels"`, `{"levels":[1],"said":"***","x":"***: a","bad ***"`)
	f("Authorization: percentiles9", `{"percentiles9":{"a":"percentiles9"}}`, `{"percentiles9":{"a":"***"}}`)
	f("Authorization: Bearer concurrency", `{"mode":"concurrency","text":"Bearer concurrency"}`, `{"mode":"concurrency","text":"***"}`)
	f("Authorization: client", `{"state":"client-limited"}`, `{"state":"client-limited"}`)
	f("Authorization: streaming", `["--streaming"] Authorization: streaming`, `["--streaming"] Authorization: ***`)
	f("Authorization: streaming", `"sent:\nAuthorization: streaming\nA: 1"`, `"sent:\nAuthorization: ***\nA: 1"`)
	f("X-Api-Key: S3CRET-key", `{"S3CRET-key":1}`, `{"***":1}`)
}

// A message may have been cut off within a secret.
func TestALargePartOfASecret(t *testing.T) {
	var s secret.Set
	s.Add("0123456789abcdefghijABCDEFGHIJxyz")
	for text, want := range map[string]string{
		"bad key 0123456789abcdefghijABC, sorry": "bad key ***, sorry",
		"bad key 01234567... 01234...":           "bad key ***... ***...",
		"wait... 0123456, 012... 01":             "wait... 0123456, 012... 01",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWriterAcrossWrites(t *testing.T) {
	var s secret.Set
	s.Add("SECRETSECRETVALUE")
	s.Add("short")
	text := "a SECRETSECRETVALUE b SECRETSECRETSECRETVALUE shorts short,SECRETshort short"
	want := s.Redact(text)
	if want != "a *** b ***SECRETVALUE shorts ***,SECRETshort ***" && want != "a *** b SECRET*** shorts ***,SECRETshort ***" {
		t.Errorf("%q", want)
	}
	for size := 1; size <= len(text); size++ {
		var b bytes.Buffer
		w := s.Writer(&b)
		for i := 0; i < len(text); i += size {
			part := text[i:min(i+size, len(text))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("in parts of %d: %s", size, d)
		}
	}
}

// FuzzWriter: whatever the parts, the output is that of the whole, and no secret is in it.
func FuzzWriter(f *testing.F) {
	f.Add("x SECRETKEY-1 y", "SECRETKEY-1", 3)
	f.Add("aaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaab", 2)
	f.Add("x SECRETK.. SECRETK... SECRE....", "SECRETKEY-1", 3)
	f.Add("....aaaa...aaaaa...aaa....", "aa.....aaaa", 1)
	f.Add("ababababababababababababababababababab", "abababababababab", 5)
	f.Fuzz(func(t *testing.T, text, key string, size int) {
		if size < 1 || len(text) > 1000 || strings.Contains(secret.Mask, key) {
			return
		}
		var s secret.Set
		s.Add(key)
		var b bytes.Buffer
		w := s.Writer(&b)
		for i := 0; i < len(text); i += size {
			if _, err := w.Write([]byte(text[i:min(i+size, len(text))])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s.Redact(text), b.String()); d != "" {
			t.Fatal(d)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	var s secret.Set
	s.Collect(secret.Header, "Authorization: Bearer sk-0123456789abcdef0123456789abcdef")
	chunk := bytes.Repeat([]byte(`{"timestamp":1731700000000000000,"response_timestamps":[1731700000001000000],"text":"some words"},`), 1300)
	w := s.Writer(discard{})
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		if _, err := w.Write(chunk); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestPublicURLLeavesPlainAddressesAlone(t *testing.T) {
	for _, a := range []string{"", "localhost:8000", "127.0.0.1:8001", "http://host:80/a/b", "[::1]:9000", "unix:///tmp/x.sock"} {
		if got := secret.PublicURL(a); got != a {
			t.Errorf("%q became %q", a, got)
		}
	}
}
