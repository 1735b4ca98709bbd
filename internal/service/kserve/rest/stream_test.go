package rest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// events is the head of a stream of events and its chunks; each part is a chunk of its own.
func events(parts ...string) []byte {
	b := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")
	for _, p := range parts {
		b = fmt.Appendf(b, "%x\r\n%s\r\n", len(p), p)
	}
	return append(b, "0\r\n\r\n"...)
}

// event is one response as MLServer sends it.
func event(id, data string) string {
	return `data: {"model_name":"simple","id":"` + id + `","parameters":{},"outputs":[{"name":"OUT","shape":[1,2],"datatype":"INT32","data":` + data + "}]}\n\n"
}

// Requests with --streaming go to infer_stream, and each event is a response.
func TestStreamed(t *testing.T) {
	f := func(name string, responses uint32, class record.Class, text string, answer func(id string) []byte) {
		t.Run(name, func(t *testing.T) {
			line := ""
			srv := serve(t, func(r *seen) []byte {
				line = r.line
				return answer(r.id)
			})
			tg := target(srv.addr)
			tg.Streaming = true
			svc := newService(t, tg, plan.Input{InputFormat: plan.JSONTensors, OutputFormat: plan.JSONTensors})
			k, calls := open(t, svc, simpleInputs(), 1)
			calls[0].Vars.HasID = true
			k.run(calls, 2)
			e := k.ends[1]
			if e.class != class || !strings.Contains(fmt.Sprint(e.err), text) || e.rec.Responses != responses || e.rec.End < e.rec.First {
				t.Errorf("got %v: %v, %+v", e.class, e.err, e.rec)
			}
			if !strings.HasPrefix(line, "POST /v2/models/simple/infer_stream ") {
				t.Error(line)
			}
			if responses == 0 {
				return
			}
			if out, err := svc.Outputs(e.payload); err != nil || len(out) != 1 || out[0].Shape.String() != "[1,2]" {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
	f("three", 3, record.OK, "nil", func(id string) []byte {
		return events(event(id, "[1,2]"), event(id, "[3,4]"), event(id, "[5,6]"))
	})
	f("in pieces", 2, record.OK, "nil", func(id string) []byte {
		text := event(id, "[1,2]") + strings.TrimRight(event(id, "[3,4]"), "\n")
		return events(text[:20], text[20:150], text[150:])
	})
	f("without ids", 1, record.OK, "nil", func(string) []byte { return events(event("", "[1,2]")) })
	f("none", 0, record.OK, "nil", func(string) []byte { return events() })
	f("another id", 1, record.Protocol, "id is not the id", func(id string) []byte { return events(event(id, "[1,2]"), event(id+"7", "[1,2]"), event(id, "[1,2]")) })
	f("no outputs", 0, record.Protocol, "no outputs", func(string) []byte { return events("data: {}\n\n") })
	f("error", 0, record.Server, "no memory", func(string) []byte { return events("data: {\"error\":\"no memory\"}\n\n") })
	f("not there", 0, record.Server, "leave --streaming out", func(string) []byte { return plainReply(http.StatusNotFound, `{"detail":"Not Found"}`) })
	f("refused", 0, record.Server, "no such model", func(string) []byte { return plainReply(http.StatusBadRequest, `{"error":"no such model"}`) })
	f("whole", 1, record.OK, "nil", func(id string) []byte {
		return plainReply(http.StatusOK, strings.TrimPrefix(event(id, "[1,2]"), "data: "))
	})
}

// A server sends as much as it likes: the client takes as much as it is told.
func TestStreamedLimit(t *testing.T) {
	srv := serve(t, func(r *seen) []byte {
		one := event(r.id, "[1,2]")
		parts := make([]string, 100)
		for i := range parts {
			parts[i] = one
		}
		return events(parts...)
	})
	tg := target(srv.addr)
	tg.Streaming, tg.MaxResponse = true, 4000
	k, calls := open(t, newService(t, tg, plan.Input{}), service.Inputs{}, 1)
	k.run(calls, 1)
	if e := k.ends[0]; e.class != record.Protocol || !strings.Contains(fmt.Sprint(e.err), "too large") {
		t.Errorf("%v: %v", e.class, e.err)
	}
}
