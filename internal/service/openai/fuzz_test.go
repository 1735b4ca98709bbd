package openai

import (
	"testing"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
)

// witness counts what an exchange reports.
type witness struct {
	answers, finals int
	last            int64
	back            bool // times went back
}

func (w *witness) Response(_ *service.Call, _ []byte, at int64, empty bool) {
	if empty {
		w.finals++
	} else {
		w.answers++
	}
	w.back = w.back || at < w.last
	w.last = at
}

func (w *witness) Done(*service.Call) {}

// FuzzAnswer: whatever a server sends, an answer is good only if something was answered, and what is reported is
// what the record says.
func FuzzAnswer(f *testing.F) {
	event := `data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n"
	f.Add(200, "text/event-stream", "", []byte(event+event+"data: [DONE]\n\n"), uint8(7))
	f.Add(200, "text/event-stream", "gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"), uint8(3))
	f.Add(200, "text/event-stream", "deflate", []byte("x\x9c\x01\x00"), uint8(1))
	f.Add(200, "application/json", "", []byte(`{"error":null}`), uint8(0))
	f.Add(200, "application/json", "gzip", []byte("x"), uint8(0))
	f.Add(500, "text/event-stream", "", []byte("data: x\n\n"), uint8(0))
	f.Fuzz(func(t *testing.T, status int, ctype, encoding string, body []byte, size uint8) {
		w := &witness{}
		x := &exchange{sink: w, closes: true}
		defer x.Close()
		for range 2 { // the second must not see anything of the first
			*w = witness{}
			c := &service.Call{}
			r := &wire.Reply{Status: status, Type: []byte(ctype), Encoding: []byte(encoding), Size: int64(len(body)), First: 1}
			if x.Head(c, r) {
				at, step := int64(1), max(1, int(size))
				for i := 0; i < len(body); i += step {
					at++
					x.Data(c, body[i:min(i+step, len(body))], at)
				}
				r.End = at
			} else {
				r.Body, r.End = body, 2
			}
			err := x.Reply(c, r)
			if err == nil && (c.Rec.Responses == 0 || status < 200 || status > 299) {
				t.Error("a good answer without an answer")
			}
			if err != nil && (err.Class == record.OK || err.Error() == "") {
				t.Errorf("%+v", err)
			}
			if int(c.Rec.Responses) != w.answers || w.finals > 1 || w.back {
				t.Errorf("%+v, record %+v", w, c.Rec)
			}
		}
	})
}
