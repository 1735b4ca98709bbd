package khttp

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/refserver/stream"
	"github.com/redline-bench/redline/internal/tensor"
)

// generate serves /generate and /generate_stream: flat JSON whose members are inputs of the model, or else parameters. The
// stream is server-sent events, one for each response.
func (h *Handler) generate(ctx context.Context, x *exchange, name, version string, streamed bool) error {
	x.kind = jsonText
	if err := x.allow(http.MethodPost); err != nil {
		return err
	}
	script, err := stream.Parse(x.req.Header.Get(stream.Header))
	if err != nil {
		return bad("%v", err)
	}
	m, err := h.core.Models.Get(name, version)
	if err != nil {
		return err
	}
	body, err := x.body()
	if err != nil {
		return err
	}
	received := time.Now()
	doc, err := parseJSON(body, x.most)
	if err != nil {
		return err
	}
	rd := &reader{h: h, model: m, req: &infer.Request{Model: name, Version: version, Received: received}}
	if err := rd.flat(doc); err != nil {
		return err
	}
	rd.req.Context = ctx // ends when this function returns
	answers := newQueue(ctx)
	defer answers.stop()
	rd.req.Reply = answers.put
	if rd.req.Trace = h.core.Trace.Sample(m.Name()); rd.req.Trace != nil {
		rd.req.Trace.Mark("HTTP_RECV_START", received)
		rd.req.Trace.Mark("HTTP_RECV_END", received)
		defer rd.req.Trace.End()
	}
	if err := m.Infer(rd.req); err != nil {
		return err
	}
	if streamed {
		h.stream(x, m, rd.req, answers, script)
		return nil
	}
	h.single(x, m, rd.req, answers)
	h.core.Log.Add(reqlog.Entry{Model: m.Name(), ID: rd.req.ID, Parent: x.req.Header.Get("Traceparent"), Received: received, Replied: time.Now()})
	return nil
}

// flat turns the members of a JSON object into inputs and parameters.
func (rd *reader) flat(doc *rjson.Value) error {
	if doc.Kind != rjson.Object {
		return infer.Errorf(infer.Internal, "attempt to get members for non-object")
	}
	if id := doc.Find("id"); id != nil {
		if id.Kind != rjson.String {
			return wrong("id", notString)
		}
		rd.req.ID = id.Text
	}
	for i := range doc.Members {
		member := &doc.Members[i]
		in := rd.declared(member.Name)
		var err error
		switch {
		case in != nil:
			err = rd.flatInput(in, &member.Value)
		case member.Name == "parameters" && member.Value.Kind == rjson.Object:
			err = rd.flat(&member.Value)
		case member.Name == "id":
		default:
			err = rd.free(member.Name, &member.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (rd *reader) declared(name string) *model.Tensor {
	for _, in := range rd.model.Describe().Inputs {
		if in.Name == name {
			return &in
		}
	}
	return nil
}

// flatInput makes a tensor from a value or a list: fixed dimensions take their share of the elements, the innermost variable
// one takes the rest.
func (rd *reader) flatInput(in *model.Tensor, v *rjson.Value) error {
	count := int64(1)
	if v.Kind == rjson.Array {
		count = int64(len(v.Items))
	}
	list := v
	if v.Kind != rjson.Array {
		list = &rjson.Value{Kind: rjson.Array, Items: []rjson.Value{*v}}
	}
	t := tensor.Tensor{Name: in.Name, Type: in.Type, Shape: append(tensor.Shape{}, in.Shape...)}
	left := count
	for _, d := range t.Shape {
		if d > 0 {
			if left%d != 0 {
				return bad("The schema can not convert input '%s' to tensor with proper shape", in.Name)
			}
			left /= d
		}
	}
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if t.Shape[i] < 0 {
			t.Shape[i], left = left, 1
		}
	}
	if left != 1 {
		return bad("The schema can not convert input '%s' to tensor with proper shape", in.Name)
	}
	var err error
	t.Data, err = jsonData(list, t)
	rd.req.Inputs = append(rd.req.Inputs, t)
	return err
}

// single waits for the one response of /generate.
func (h *Handler) single(x *exchange, m *model.Model, req *infer.Request, answers *queue) {
	var body []byte
	count := 0
	for resp := answers.next(); resp != nil; resp = answers.next() {
		if resp.Err != nil {
			x.fail(resp.Err)
			return
		}
		if !resp.Empty {
			count++
			body = flatResponse(m, req, resp)
		}
	}
	if count != 1 {
		// The status is Triton's too.
		body = errorBody("generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses")
	}
	x.answer(http.StatusOK, x.kind, body)
}

// stream writes each response as an event as soon as it comes.
func (h *Handler) stream(x *exchange, m *model.Model, req *infer.Request, answers *queue, script stream.Script) {
	if script.Status != 0 {
		x.answer(script.Status, x.kind, errorBody("failed on purpose"))
		return
	}
	x.sent = true
	out := stream.New(x.ResponseWriter, script)
	out.Log = h.core.Log.On()
	out.Follow(h.core.Departures.Request(x.req))
	err := events(x, m, req, answers, script, out)
	if out.Started() {
		err = errors.Join(err, out.Close())
	}
	replied := time.Now()
	out.Told(func(times []int64, _ []int) {
		h.core.Log.Add(reqlog.Entry{Model: m.Name(), ID: req.ID, Parent: x.req.Header.Get("Traceparent"), Received: req.Received, Replied: replied, Events: times})
	})
	if out.Cut() || errors.Is(err, stream.ErrCut) {
		panic(http.ErrAbortHandler) // the way of net/http to end a connection within a response
	}
}

// events sends the responses until the last one, or until the script or the client ends the stream.
func events(x *exchange, m *model.Model, req *infer.Request, answers *queue, script stream.Script, out *stream.Writer) error {
	for resp := answers.next(); resp != nil; resp = answers.next() {
		if resp.Err != nil && !out.Started() {
			x.fail(resp.Err)
			return nil
		}
		if resp.Empty {
			continue
		}
		if out.Events() == script.Stop {
			break
		}
		body := flatResponse(m, req, resp)
		if out.Events() == script.Fail {
			resp = &infer.Response{Err: errOnPurpose}
		}
		if resp.Err != nil {
			return out.Event("", errorBody(resp.Err.Error()), 0)
		}
		if err := out.Event("", body, 1); err != nil {
			return err
		}
	}
	out.Start() // a stream may be without events
	return nil
}

var errOnPurpose = errors.New("failed on purpose")

// flatResponse writes names, parameters and outputs as members of one object, in the order of their names; a tensor of one
// element is a plain value.
func flatResponse(m *model.Model, req *infer.Request, resp *infer.Response) []byte {
	members := map[string][]byte{
		"model_name": rjson.AppendString(nil, m.Name()), "model_version": rjson.AppendString(nil, resp.Version),
	}
	if req.ID != "" {
		members["id"] = rjson.AppendString(nil, req.ID)
	}
	for name, v := range resp.Params {
		members[name] = appendValue(nil, v)
	}
	for _, t := range resp.Outputs {
		data := appendData(nil, t)
		if t.Shape.Elements() == 1 {
			data = data[1 : len(data)-1]
		}
		members[t.Name] = data
	}
	b := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b = append(rjson.AppendName(b, name), members[name]...)
	}
	return append(b, '}')
}

// queue lets a model reply without waiting for a slow reader: it keeps responses in memory until they are written.
type queue struct {
	mu   sync.Mutex
	bell *sync.Cond
	list []*infer.Response
	over bool // no more responses are put or taken
	stop func() bool
}

// newQueue makes a queue that ends with ctx.
func newQueue(ctx context.Context) *queue {
	q := &queue{}
	q.bell = sync.NewCond(&q.mu)
	q.stop = context.AfterFunc(ctx, q.end)
	return q
}

func (q *queue) put(r *infer.Response) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, r)
	q.bell.Signal()
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.over = true
	q.bell.Signal()
}

// next waits for a response; nil after the final one, or when the client has gone.
func (q *queue) next() *infer.Response {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 && !q.over {
		q.bell.Wait()
	}
	if len(q.list) == 0 {
		return nil
	}
	r := q.list[0]
	q.list = q.list[1:]
	if r.Final {
		q.over = true
	}
	return r
}
