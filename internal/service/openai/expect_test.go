package openai_test

import (
	"errors"
	"testing"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// TestExpectedAnswers: validation data is held against the body, or against the data of a stream's last event.
func TestExpectedAnswers(t *testing.T) {
	const (
		size = string(service.OutputSize)
		text = string(service.OutputDiffers)
	)
	f := func(answer, want, fails string) {
		t.Helper()
		s := newService(t, target(serve(t, always(answer))))
		k, calls := open(t, s, `{}`, 1)
		in := inputs(`{}`)
		in.Expect = []tensor.Tensor{{Name: "response", Type: tensor.JSON, Shape: tensor.Shape{1}, Data: []byte(want)}}
		req, err := s.Prepare(in)
		if err != nil {
			t.Fatal(err)
		}
		calls[0].Req = req
		k.run(calls, 1)
		e := k.ends[0]
		if fails == "" {
			if e.err != nil {
				t.Errorf("%s, want %s: %v", answer, want, e.err)
			}
			return
		}
		var got *service.Error
		if !errors.As(e.err, &got) || got.Class != record.Mismatch || got.Error() != fails {
			t.Errorf("%s, want %s: %v instead of %q", answer, want, e.err, fails)
		}
	}
	body := plain(200, "application/json", `{"a":1}`)
	f(body, `{"a":1}`, "")
	f(body, `{"a":2}`, text)
	f(body, `{"b"`, text)
	f(body, `{"a"`, size)
	f(body, `{"a":1,"b":2}`, size)
	f(stream("data: 1\n\n", "data: {\"usage\":{}}\n\n", done), `{"usage":{}}`, "")
	f(stream("data: 1\n\n", "data: 2\n\n", done), "1", text)
}

// TestLinesOfJSON: a body of several documents is not one that is broken.
func TestLinesOfJSON(t *testing.T) {
	if e := once(t, always(plain(200, "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n"))); e.err != nil {
		t.Error(e.err)
	}
	for _, ctype := range []string{"application/json; charset=utf-8", "application/problem+json", "Application/JSON"} {
		if e := once(t, always(plain(200, ctype, "{\"a\":1}\n{\"a\":2}\n"))); e.err == nil {
			t.Errorf("%s: two documents passed for one", ctype)
		}
	}
}
