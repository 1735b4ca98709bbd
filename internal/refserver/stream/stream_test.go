package stream

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// written runs a script over two events and the end, and gives what a client would read.
func written(t *testing.T, script string) (text string, w *Writer, rec *httptest.ResponseRecorder) {
	t.Helper()
	s, err := Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	rec = httptest.NewRecorder()
	w = New(rec, s)
	w.Log = true
	for _, data := range []string{`{"a":1}`, `{"b":2}`} {
		if err = w.Event("", []byte(data), 1); err != nil {
			break
		}
	}
	if err == nil {
		err = w.Done()
	}
	if err != nil && !errors.Is(err, ErrCut) {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return rec.Body.String(), w, rec
}

func TestKindsOfStream(t *testing.T) {
	for script, want := range map[string]string{
		"":           "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n",
		"split":      "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n",
		"merge=2":    "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n",
		"crlf":       "data: {\"a\":1}\r\n\r\ndata: {\"b\":2}\r\n\r\ndata: [DONE]\r\n\r\n",
		"cr,nodone":  "data: {\"a\":1}\r\rdata: {\"b\":2}\r\r",
		"bare":       "data:{\"a\":1}\n\ndata:{\"b\":2}\n\ndata:[DONE]\n\n",
		"bom":        "\ufeffdata: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: [DONE]\n\n",
		"lines":      "data: {\ndata: \"a\":1}\n\ndata: {\ndata: \"b\":2}\n\ndata: [DONE]\n\n",
		"big=30":     "data: {\"padding\":\"xxxxxxxxxxx\",\"a\":1}\n\ndata: {\"padding\":\"xxxxxxxxxxx\",\"b\":2}\n\ndata: [DONE]\n\n",
		"fields":     "id: 0\nretry: 1000\nunknown: field\ndata: {\"a\":1}\n\nid: 1\nretry: 1000\nunknown: field\ndata: {\"b\":2}\n\nid: 2\nretry: 1000\nunknown: field\ndata: [DONE]\n\n",
		"empty":      "",
		"cut=1":      "data: {\"a\":1}\n\n",
		"comments":   ": a comment, data: of nobody\ndata: {\"a\":1}\n\n: a comment, data: of nobody\ndata: {\"b\":2}\n\n: a comment, data: of nobody\ndata: [DONE]\n\n",
		"bare, crlf": "data:{\"a\":1}\r\n\r\ndata:{\"b\":2}\r\n\r\ndata:[DONE]\r\n\r\n",
	} {
		got, w, _ := written(t, script)
		if got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
		var times []int64
		var tokens []int
		w.Told(func(t []int64, n []int) { times, tokens = t, n })
		if len(times) != w.Events() || len(tokens) != w.Events() {
			t.Errorf("%q: %d times for %d events", script, len(times), w.Events())
		}
		for i, at := range times {
			if at == 0 || i > 0 && at < times[i-1] {
				t.Errorf("%q: times %v", script, times)
			}
		}
		if w.Cut() != (script == "cut=1") {
			t.Errorf("%q: cut is %v", script, w.Cut())
		}
	}
}

func TestGzip(t *testing.T) {
	got, _, rec := written(t, "gzip")
	if rec.Header().Get("Content-Encoding") != "gzip" {
		t.Error("no encoding")
	}
	z, err := gzip.NewReader(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || !strings.HasSuffix(string(plain), "data: [DONE]\n\n") {
		t.Errorf("%q, %v", plain, err)
	}
}

func TestWrongScripts(t *testing.T) {
	for _, text := range []string{"nope", "split=0", "split=x", "cut", "crlf=1", "ping=-1s", "ping=x", "gzip=2", "=", "chunk=0"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("split=3,crlf,comments,ping=5ms,reasoning")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err == nil && (s.EOL == "" || s.Chunk < 1) {
			t.Errorf("%q gives %+v", text, s)
		}
	})
}
