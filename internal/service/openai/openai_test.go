package openai_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/release"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/openai"
	"github.com/redline-bench/redline/internal/tensor"
)

func TestRequestBytes(t *testing.T) {
	for _, size := range []int{10, 100_000} { // in one piece, in two
		body := `{"b":1.0,"a":"` + strings.Repeat("x", size) + `"}`
		var got asked
		tg := target(serve(t, func(w io.Writer, r asked) bool {
			got = r
			_, err := io.WriteString(w, plain(200, "application/json", `{}`))
			return err == nil
		}))
		tg.Headers = []plan.Header{{Name: "Authorization", Value: "Bearer abc"}}
		k, calls := open(t, newService(t, tg), body, 1)
		k.run(calls, 1)
		want := "POST /v1/chat/completions HTTP/1.1\r\nHost: " + tg.URL + "\r\nUser-Agent: " + release.Agent() + "\r\nAccept: */*\r\n" +
			"Content-Type: application/json\r\nAuthorization: Bearer abc\r\nContent-Length: "
		if !strings.HasPrefix(got.head, want) || got.body != body {
			t.Errorf("sent %q, %d bytes of body", got.head, len(got.body))
		}
		if e := k.ends[0]; e.rec.Class != record.OK || e.rec.Out != uint64(len(body)) {
			t.Errorf("%+v", e)
		}
	}
}

func TestPlainAnswer(t *testing.T) {
	e := once(t, always(plain(200, "application/json", `{"choices":[]}`)))
	if e.err != nil || e.rec.Responses != 1 || e.rec.In != 14 || e.rec.First == 0 || e.rec.End < e.rec.First {
		t.Errorf("%+v", e)
	}
	if d := cmp.Diff(e.texts, []string{`{"choices":[]}`}); d != "" || e.finals != 0 {
		t.Error(d)
	}
}

func TestStreams(t *testing.T) {
	a, b := token("a"), token("b")
	last := strings.Replace(b, "null", `"stop"`, 1)
	usage := `data: {"choices":[],"usage":{"completion_tokens":2}}` + "\n\n"
	for name, tc := range map[string]struct {
		answer string
		want   []string
	}{
		"an event a chunk":        {stream(a, b, done), []string{a, b, done}},
		"merged":                  {stream(a + b + done), []string{a, b, done}},
		"split":                   {stream(a[:5], a[5:]+b[:9], b[9:]+done[:3], done[3:]), []string{a, b, done}},
		"comments and pings":      {stream(": hello\n\n", a, ": ping\n\n", "event: ping\ndata: {}\n\n", b, done), []string{a, b, done}},
		"CRLF":                    {stream(strings.ReplaceAll(a+done, "\n", "\r\n")), []string{a, done}},
		"several data lines":      {stream("data: {\ndata: }\n\n" + done), []string{"data: {\ndata: }\n\n", done}},
		"no blank after the end":  {stream(a, "data: [DONE]"), []string{a, done}},
		"more after the end":      {stream(a, done, b), []string{a, done}},
		"no [DONE] but a reason":  {stream(a, last), []string{a, last}},
		"no [DONE] but the usage": {stream(a, usage), []string{a, usage}},
		"error in the text":       {stream(token(`\"error\": 1`), done), []string{token(`\"error\": 1`), done}},
		"a null error":            {stream(`data: {"error":null}`+"\n\n", done), []string{`data: {"error":null}` + "\n\n", done}},
		"until close": {
			"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nConnection: close\r\n\r\n" + a + done, []string{a, done},
		},
		"known length": {plain(200, "text/event-stream", a+done), []string{a, done}},
	} {
		t.Run(name, func(t *testing.T) {
			for how, talk := range map[string]talker{"at once": always(tc.answer), "byte by byte": dribble(tc.answer)} {
				if name == "until close" {
					inner := talk
					talk = func(w io.Writer, r asked) bool { inner(w, r); return false }
				}
				e := once(t, talk)
				if e.err != nil || e.rec.Class != record.OK {
					t.Fatalf("%s: %v", how, e.err)
				}
				if d := cmp.Diff(e.texts, tc.want); d != "" {
					t.Errorf("%s: %s", how, d)
				}
				answers := len(tc.want)
				if tc.want[answers-1] == done {
					answers--
				}
				if int(e.rec.Responses) != answers || e.finals != len(tc.want)-answers {
					t.Errorf("%s: %d answers, %d empty ends", how, e.rec.Responses, e.finals)
				}
				if e.rec.First != e.at[0] || e.rec.End != e.at[answers-1] || e.rec.First <= e.rec.Sent {
					t.Errorf("%s: sent %d, first %d, end %d, responses at %v", how, e.rec.Sent, e.rec.First, e.rec.End, e.at)
				}
			}
		})
	}
}

// TestEachEventHasItsTime: the server waits before each event until the client has seen the one before.
func TestEachEventHasItsTime(t *testing.T) {
	s := &stepper{seen: make(chan int64, 1)}
	e := stepped(t, s, func(w io.Writer, _ asked) bool {
		_, _ = io.WriteString(w, streamHead+"\r\n")
		for _, event := range []string{token("x"), token("x"), token("x"), done} {
			if !s.step(func() { _, _ = io.WriteString(w, chunks(event)) }) {
				return false
			}
		}
		_, err := io.WriteString(w, "0\r\n\r\n")
		return err == nil
	})
	s.check(t, e)
	if e.rec.First != e.at[0] || e.rec.End != e.at[2] || e.rec.Responses != 3 {
		t.Errorf("%+v", e.rec)
	}
}

// stepped makes one call against a talker whose steps it tells of.
func stepped(t *testing.T, s *stepper, talk talker) ended {
	t.Helper()
	k, calls := open(t, newService(t, target(serve(t, talk))), `{"stream":true}`, 1)
	k.seen = s.seen
	k.run(calls, 1)
	return k.ends[0]
}

func TestFailures(t *testing.T) {
	a := token("a")
	closing := func(answer string) talker {
		return func(w io.Writer, _ asked) bool {
			_, _ = io.WriteString(w, answer)
			return false
		}
	}
	long := strings.Repeat("x", 10_000)
	for name, tc := range map[string]struct {
		talk  talker
		class record.Class
		text  string
	}{
		"404":                {always(plain(404, "text/plain", "404: Not Found")), record.Server, "the server answered with HTTP 404 Not Found: 404: Not Found"},
		"500 as a stream":    {always(plain(500, "text/event-stream", "data: no\n\n")), record.Server, "the server answered with HTTP 500 Internal Server Error: data: no"},
		"a long body":        {always(plain(503, "text/plain", long)), record.Server, long[:4096] + "..."},
		"redirect":           {always(plain(302, "text/plain", "")), record.Server, "HTTP 302 Found"},
		"error event":        {always(stream(a, `data: {"error":{"message":"oops"}}`+"\n\n", done)), record.Server, `OpenAI stream returns an error: {"error":{"message":"oops"}}`},
		"typed error":        {always(stream("event: error\ndata: oops\n\n")), record.Server, "error: oops"},
		"error in a 200":     {always(plain(200, "application/json", `{"error":"no"}`)), record.Server, `{"error":"no"}`},
		"empty stream":       {always(stream()), record.Protocol, "no answer"},
		"only [DONE]":        {always(stream(done)), record.Protocol, "no answer"},
		"without its end":    {always(stream(a)), record.Protocol, "without data: [DONE]"},
		"empty body":         {always(plain(200, "application/json", "")), record.Protocol, "empty"},
		"not JSON":           {always(plain(200, "application/json", `{"a":`)), record.Protocol, "malformed"},
		"unknown encoding":   {always(plain(200, "application/json", "x", "Content-Encoding: br")), record.Protocol, `"br"`},
		"unknown, streamed":  {always(plain(200, "text/event-stream", "x", "Content-Encoding: zstd")), record.Protocol, `"zstd"`},
		"bad gzip":           {always(plain(200, "application/json", "x", "Content-Encoding: gzip")), record.Protocol, "compression is broken"},
		"bad gzip, streamed": {always(plain(200, "text/event-stream", "x", "Content-Encoding: gzip")), record.Protocol, "compression is broken"},
		"broken off":         {closing(streamHead + "\r\n" + chunks(a, a)), record.Transport, "in the middle"},
		"bad chunk":          {closing(streamHead + "\r\n" + chunks(a) + "zz\r\n"), record.Protocol, "chunk size"},
		"closed":             {closing(""), record.Transport, "without a reply"},
		"not HTTP":           {closing("hello\r\n\r\n"), record.Protocol, "HTTP/1.x"},
	} {
		t.Run(name, func(t *testing.T) {
			e := once(t, tc.talk)
			var se *service.Error
			if !errors.As(e.err, &se) || e.rec.Class != tc.class || se.Class != tc.class || !strings.Contains(e.err.Error(), tc.text) {
				t.Errorf("%v: %v; want %v with %q", e.rec.Class, e.err, tc.class, tc.text)
			}
			if e.rec.End < e.rec.Sent {
				t.Errorf("%+v", e.rec)
			}
		})
	}
}

// TestNoEndMarkerElsewhere: other endpoints than completions end their streams in other ways.
func TestNoEndMarkerElsewhere(t *testing.T) {
	tg := target(serve(t, always(stream(token("a")))))
	tg.Endpoint = "v2/models/m/generate_stream"
	k, calls := open(t, newService(t, tg), `{}`, 1)
	k.run(calls, 1)
	if e := k.ends[0]; e.err != nil || e.rec.Responses != 1 {
		t.Errorf("%+v", e)
	}
}

// TestGoesOnAfterFailures: a failed exchange leaves nothing behind that the next one could trip over.
func TestGoesOnAfterFailures(t *testing.T) {
	a := token("a")
	answers := []string{
		stream(a, `data: {"error":1}`+"\n\n"), stream(a, done), plain(500, "text/plain", "no"), stream(a, done),
		stream(a[:20]), stream(a, done),
		streamHead + "Content-Encoding: gzip\r\n\r\n" + chunks("\x1f\x8b\x08") + "0\r\n\r\n", stream(a, done),
	}
	n := 0
	k, calls := open(t, newService(t, target(serve(t, func(w io.Writer, _ asked) bool {
		n++
		_, err := io.WriteString(w, answers[n-1])
		return err == nil
	}))), `{}`, 1)
	k.run(calls, len(answers))
	for i, e := range k.ends {
		if good := i%2 == 1; good != (e.err == nil) || good && len(e.texts) != 2 {
			t.Errorf("answer %d: %v, %q", i, e.err, e.texts)
		}
	}
}

func compressed(kind, text string, flushes int) []string {
	var b bytes.Buffer
	var w interface {
		io.WriteCloser
		Flush() error
	}
	if kind == "gzip" {
		w = gzip.NewWriter(&b)
	} else {
		w = zlib.NewWriter(&b)
	}
	var pieces []string
	take := func() {
		pieces = append(pieces, b.String())
		b.Reset()
	}
	for part := range strings.SplitAfterSeq(text, "\n\n") {
		_, _ = io.WriteString(w, part)
		if flushes > 0 {
			_ = w.Flush()
			take()
		}
	}
	_ = w.Close()
	take()
	return pieces
}

func TestCompressedAnswers(t *testing.T) {
	text := token("a") + token("b") + done
	for _, kind := range []string{"gzip", "deflate"} {
		head := strings.Replace(streamHead, "\r\n", "\r\nContent-Encoding: "+kind+"\r\n", 1) + "\r\n"
		for name, pieces := range map[string][]string{"flushed": compressed(kind, text, 1), "whole": compressed(kind, text, 0)} {
			for how, talk := range map[string]func(string) talker{"at once": always, "byte by byte": dribble} {
				e := once(t, talk(head+chunks(pieces...)+"0\r\n\r\n"))
				if d := cmp.Diff(e.texts, []string{token("a"), token("b"), done}); d != "" || e.err != nil {
					t.Errorf("%s, %s, %s: %v %s", kind, name, how, e.err, d)
				}
			}
		}
		e := once(t, always(plain(200, "application/json", strings.Join(compressed(kind, `{"a":1}`, 0), ""), "Content-Encoding: "+kind)))
		if d := cmp.Diff(e.texts, []string{`{"a":1}`}); d != "" || e.err != nil {
			t.Errorf("%s: %v %s", kind, e.err, d)
		}
	}
}

// TestCompressedEventsComeAtOnce: an event that was flushed is seen before the next one is sent.
func TestCompressedEventsComeAtOnce(t *testing.T) {
	pieces := compressed("gzip", token("a")+token("b")+done, 1)
	s := &stepper{seen: make(chan int64, 1)}
	s.check(t, stepped(t, s, func(w io.Writer, _ asked) bool {
		_, _ = io.WriteString(w, streamHead+"Content-Encoding: gzip\r\n\r\n")
		for _, p := range pieces[:3] {
			if !s.step(func() { _, _ = io.WriteString(w, chunks(p)) }) {
				return false
			}
		}
		_, err := io.WriteString(w, chunks(pieces[3:]...)+"0\r\n\r\n")
		return err == nil
	}))
}

// TestCut: a stream that goes on for ever ends when it is cut, and the slot works on.
func TestCut(t *testing.T) {
	first := true
	k, calls := open(t, newService(t, target(serve(t, func(w io.Writer, _ asked) bool {
		if !first {
			_, err := io.WriteString(w, stream(token("a"), done))
			return err == nil
		}
		first = false
		_, _ = io.WriteString(w, streamHead+"\r\n"+chunks(token("a"), token("b")))
		_, _ = io.Copy(io.Discard, w.(net.Conn)) // until the client has left
		return false
	}))), `{}`, 1)
	k.left.Store(1)
	k.running.Add(1)
	k.seen = make(chan int64, 10)
	k.send(calls[0])
	<-k.seen
	<-k.seen
	k.tr.Cut(0, record.Timeout)
	k.running.Wait()
	if len(k.ends) != 2 || k.ends[0].rec.Class != record.Timeout || k.ends[1].rec.Class != record.OK || len(k.ends[1].texts) != 2 {
		t.Errorf("%+v", k.ends)
	}
}

func TestDescribe(t *testing.T) {
	m, err := newService(t, target("x:1")).Describe(t.Context())
	if err != nil || len(m.Inputs) != 1 || m.Inputs[0].Name != "payload" || m.Inputs[0].Type != tensor.JSON || m.Outputs[0].Name != "response" || m.Statistics {
		t.Errorf("%+v, %v", m, err)
	}
	tg := target("x:1")
	tg.Endpoint = "v1/chat completions"
	if _, err := openai.New(tg); err == nil {
		t.Error("a path with a space is accepted")
	}
	if _, err := newService(t, target("x:1")).Prepare(inputs("")); err == nil {
		t.Error("an empty payload is accepted")
	}
	out, err := newService(t, target("x:1")).Outputs([]byte(done))
	if err != nil || len(out) != 1 || out[0].Name != "response" || string(out[0].Data) != done {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestMessage(t *testing.T) {
	s := newService(t, target("x:1"))
	f := func(responses []string, want, wrong string) {
		t.Helper()
		var events []record.Event
		for _, r := range responses {
			events = append(events, record.Event{Size: uint32(len(r))})
		}
		got, err := s.Message([]byte("x,"), events, []byte(strings.Join(responses, "")))
		if wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), wrong) {
				t.Errorf("%q: %v", responses, err)
			}
			return
		}
		if err != nil || string(got) != "x,"+want {
			t.Errorf("%q: %s, %v", responses, got, err)
		}
	}
	f([]string{`{"choices": [ {"message": {"role":"assistant", "content":"a b"}} ]}`}, `{"role":"assistant","content":"a b"}`, "")
	f([]string{token("a"), token(" \\n"), done}, `{"role":"assistant","content":"a \n"}`, "")
	f([]string{token("a")}, `{"role":"assistant","content":"a"}`, "")
	f([]string{`{"choices":[]}`}, "", "the response is not a JSON object with a non-empty array \"choices\"")
	f([]string{`{"choices":[{"text":"x"}]}`}, "", "the first of \"choices\" in the response has no object \"message\"")
	f([]string{done}, "", "the response is not a JSON object")
}

func TestEndpointIsAPath(t *testing.T) {
	for endpoint, want := range map[string]string{
		"v1/chat/completions":      "/v1/chat/completions",
		"/v1/embeddings":           "//v1/embeddings",
		".":                        "/",
		"./v1/.hidden":             "/v1/.hidden",
		"a/../v1/./ranking?x=a/.b": "/v1/ranking?x=a/.b",
		"../..":                    "/",
		"a/b/..":                   "/a/",
	} {
		var got asked
		tg := target(serve(t, func(w io.Writer, r asked) bool {
			got = r
			_, err := io.WriteString(w, plain(200, "application/json", `{}`))
			return err == nil
		}))
		tg.Endpoint = endpoint
		k, calls := open(t, newService(t, tg), `{}`, 1)
		k.run(calls, 1)
		if line := "POST " + want + " HTTP/1.1"; !strings.HasPrefix(got.head, line) {
			t.Errorf("%s: %q, not %q", endpoint, got.head, line)
		}
	}
}
