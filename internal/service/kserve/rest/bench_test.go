package rest

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

var (
	idMark  = []byte(`{"id":"`)
	idQuote = []byte(`"id":"X",`)
	endMark = []byte("\r\n\r\n")
)

// echoReply renders the reply of the model simple with the request's id. model is such a reply with the id X.
func echoReply(out, in, model []byte) []byte {
	id := in[bytes.Index(in, idMark)+len(idMark):]
	id = id[:bytes.IndexByte(id, '"')]
	headEnd := bytes.Index(model, endMark) + len(endMark)
	body := model[headEnd:]
	at := bytes.Index(body, idQuote)
	json := len(body) - 128 - 1 + len(id)
	member := body[at : at+len(idQuote)]
	if len(id) == 0 {
		json -= len(idQuote) - 1
		member = nil
	}
	out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"+headerLength+": "...)
	out = strconv.AppendInt(out, int64(json), 10)
	out = append(out, "\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(json+128), 10)
	out = append(out, endMark...)
	out = append(out, body[:at]...)
	if member != nil {
		out = append(out, `"id":"`...)
		out = append(out, id...)
		out = append(out, '"', ',')
	}
	return append(out, body[at+len(idQuote):]...)
}

func BenchmarkClosedLoop(b *testing.B) {
	for name, vars := range map[string]service.Vars{"fixed": {}, "ids": {HasID: true}} {
		for _, slots := range []int{1, 8, 64} {
			b.Run(name+"/"+strconv.Itoa(slots), func(b *testing.B) {
				k, calls := open(b, newService(b, target(echo(b)), plan.Input{}), simpleInputs(), slots)
				k.keep = false
				for _, c := range calls {
					c.Vars = vars
				}
				k.run(calls, 10*slots)
				b.ReportAllocs()
				b.ResetTimer()
				k.run(calls, max(b.N, slots))
			})
		}
	}
}

func BenchmarkRender(b *testing.B) {
	r, err := newService(b, target("x:1"), plan.Input{}).Prepare(simpleInputs())
	if err != nil {
		b.Fatal(err)
	}
	v := service.Vars{HasID: true, ID: 281474976710656}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		r.(*request).render(&buf, &v)
	}
}

// BenchmarkPrepare is what a distinct request costs before the load starts: with raw tensors, and as JSON.
func BenchmarkPrepare(b *testing.B) {
	for name, input := range map[string]plan.Input{"raw": {}, "json": {InputFormat: plan.JSONTensors, OutputFormat: plan.JSONTensors}} {
		b.Run(name, func(b *testing.B) {
			s := newService(b, target("x:1"), input)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Prepare(simpleInputs()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
