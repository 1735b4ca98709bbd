package torchserve_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/torchserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// sink keeps the end of one call.
type sink struct {
	done    sync.WaitGroup
	payload []byte
}

func (s *sink) Response(_ *service.Call, payload []byte, _ int64, _ bool) {
	s.payload = bytes.Clone(payload)
}
func (s *sink) Done(*service.Call) { s.done.Done() }

func input(path string) service.Inputs {
	return service.Inputs{Tensors: []tensor.Tensor{{Name: torchserve.Input, Type: tensor.Bytes, Shape: tensor.Shape{1}, Data: tensor.AppendElement(nil, path)}}}
}

// call makes one call with a file of that content.
func call(t *testing.T, tg plan.Target, content string) (*service.Call, *sink) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.bin")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := torchserve.New(tg)
	if err != nil {
		t.Fatal(err)
	}
	k := &sink{}
	tr, err := s.Open(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if err := tr.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	req, err := s.Prepare(input(path))
	if err != nil {
		t.Fatal(err)
	}
	c := &service.Call{Req: req}
	k.done.Add(1)
	tr.Send(c)
	k.done.Wait()
	return c, k
}

// TestSeveralFiles: a step sends one file, a batch its first.
func TestSeveralFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := tensor.AppendElement(tensor.AppendElement(nil, []byte(path)), []byte(path))
	target := plan.Target{Model: "m", URL: "localhost:8080"}
	f := func(want string, shape ...int64) {
		t.Helper()
		s, err := torchserve.New(target)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Prepare(service.Inputs{Tensors: []tensor.Tensor{{Name: torchserve.Input, Type: tensor.Bytes, Shape: shape, Data: data}}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: got %v, want %q", shape, err, want)
		}
	}
	f("", 2, 1)
	f("a request sends one", 1, 1)
	target.Loose = true
	f("cannot read the file "+path, 1, 1)
}

func TestPrediction(t *testing.T) {
	// A file that holds what the boundary would be: the boundary must be another one.
	for _, content := range []string{"hello", "", strings.Repeat("x\r\n--", 50_000), "--------------------------\r\n--"} {
		var got, path, kind string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path, kind = r.URL.Path, r.Header.Get("X-Test")
			_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			part, err := multipart.NewReader(r.Body, params["boundary"]).NextPart()
			if err != nil || part.FormName() != "data" || part.FileName() != "" {
				t.Errorf("%v, %+v", err, part)
				return
			}
			b, _ := io.ReadAll(part)
			got = string(b)
			_, _ = io.WriteString(w, `{"class": 1}`)
		}))
		tg := plan.Target{URL: srv.Listener.Addr().String(), Model: "my net", Version: "1.0", Headers: []plan.Header{{Name: "X-Test", Value: "y"}}}
		c, k := call(t, tg, content)
		srv.Close()
		if c.Rec.Class != record.OK || got != content || path != "/predictions/my net/1.0" || kind != "y" || string(k.payload) != `{"class": 1}` {
			t.Errorf("%v: %d bytes of %d at %s, header %q, answer %q", c.Err, len(got), len(content), path, kind, k.payload)
		}
		r := c.Rec
		if r.Sent == 0 || r.Written < r.Sent || r.First < r.Sent || r.End < r.First || r.Responses != 1 {
			t.Errorf("times or counts: %+v", r)
		}
	}
}

func TestErrorStatus(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "{\n  \"code\": 404\n}\n")
	}))
	defer srv.Close()
	c, _ := call(t, plan.Target{URL: srv.URL, Model: "x"}, "a")
	if c.Rec.Class != record.Server || c.Err.Error() != `the server answered with HTTP 404 Not Found: { "code": 404 }` {
		t.Errorf("%v: %v", c.Rec.Class, c.Err)
	}
}

func TestMissingFile(t *testing.T) {
	s, err := torchserve.New(plan.Target{URL: "h:1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(input("no/such/file")); err == nil || err.Error() != service.UnreadableFile.With("no/such/file").Error() || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
