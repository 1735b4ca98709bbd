package kserve

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/stream"
	"github.com/redline-bench/redline/internal/tensor"
)

// generate serves /generate and /generate_stream: flat JSON whose members are inputs of the model, or else parameters. The
// stream is server-sent events, one for each response.
func (s *Server) generate(x *exchange) (any, error) {
	script, err := stream.Parse(x.Request.Header.Get(stream.Header))
	if err != nil {
		return nil, bad("%v", err)
	}
	m, err := s.Models.Get(x.PathValue("model"), x.PathValue("version"))
	if err != nil {
		return nil, err
	}
	body, err := x.body()
	if err != nil {
		return nil, err
	}
	received := time.Now()
	in := &pb.ModelInferRequest{ModelName: m.Name()}
	declared, _ := m.Describe()
	if err := flat(in, declared, body); err != nil {
		return nil, err
	}
	r, err := s.request(x.Context(), in, received)
	if err != nil {
		return nil, err
	}
	responses := infer.NewMailbox()
	r.Reply = responses.Put
	s.trace(r, "HTTP_RECV", received)
	defer r.Trace.End()
	if err := m.Infer(r); err != nil {
		return nil, err
	}
	if strings.HasSuffix(x.URL.Path, "_stream") {
		s.stream(x, m, r, responses, script)
		return nil, nil
	}
	s.whole(x, m, r, responses)
	s.Log.Add(received, reqlog.Entry{Model: m.Name(), ID: r.ID, Parent: x.Request.Header.Get("Traceparent")})
	return nil, nil
}

// flat adds the members of a JSON object to the message, as inputs and parameters.
func flat(in *pb.ModelInferRequest, declared []model.Tensor, text []byte) error {
	var doc map[string]json.RawMessage
	if err := decode(text, &doc); err != nil {
		return err
	}
	for name, value := range doc {
		var err error
		at := slices.IndexFunc(declared, func(t model.Tensor) bool { return t.Name == name })
		switch {
		case at >= 0:
			err = flatInput(in, declared[at], value)
		case name == "parameters" && value[0] == '{':
			err = flat(in, declared, value)
		case name == "id":
			err = decode(value, &in.Id)
		default:
			if in.Parameters == nil {
				in.Parameters = map[string]*pb.InferParameter{}
			}
			in.Parameters[name], err = paramOf(name, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flatInput adds a tensor of a value or a list: fixed dimensions take their share of the elements, the innermost variable
// one takes the rest.
func flatInput(in *pb.ModelInferRequest, declared model.Tensor, value json.RawMessage) error {
	var items []json.RawMessage
	if value[0] != '[' {
		value = slices.Concat([]byte{'['}, value, []byte{']'})
	}
	if err := decode(value, &items); err != nil {
		return err
	}
	t := tensor.Tensor{Name: declared.Name, Type: declared.Type, Shape: slices.Clone(declared.Shape)}
	left := int64(len(items))
	for _, d := range t.Shape {
		left /= max(d, 1)
	}
	for i, d := range slices.Backward(t.Shape) {
		if d < 0 {
			t.Shape[i], left = left, 1
		}
	}
	if t.Shape.Elements() != int64(len(items)) {
		return bad("%d elements do not fit input '%s' of shape %s", len(items), t.Name, declared.Shape)
	}
	data, err := raw(t, value)
	in.Inputs = append(in.Inputs, &input{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape})
	in.RawInputContents = append(in.RawInputContents, data)
	return err
}

// whole waits for the one response of /generate.
func (s *Server) whole(x *exchange, m *model.Model, r *infer.Request, responses *infer.Mailbox) {
	var body []byte
	var err error
	count := 0
	for last := false; !last; {
		resp := responses.Take()
		if last = resp.Final; !resp.Empty() {
			count++
			body, err = s.flatResponse(m, r, resp)
		}
		if err != nil {
			x.fail(err)
			return
		}
	}
	if count != 1 {
		body = errorBody(errNotOne) // with the status of success, as Triton
	}
	x.send(http.StatusOK, jsonType, body)
}

var (
	errNotOne    = errors.New("generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses")
	errOnPurpose = errors.New("failed on purpose")
)

// stream writes each response as an event as soon as it comes.
func (s *Server) stream(x *exchange, m *model.Model, r *infer.Request, responses *infer.Mailbox, script stream.Script) {
	x.sent = true
	if script.Status != 0 {
		x.send(script.Status, jsonType, errorBody(errOnPurpose))
		return
	}
	out := stream.New(x.ResponseWriter, script)
	out.Log = s.Log.On()
	out.Follow(s.Conns.Request(x.Request))
	err := s.events(x, m, r, responses, script, out)
	if out.Started() {
		err = errors.Join(err, out.Close())
	}
	replied := time.Now()
	out.Told(func(times []int64, _ []int) {
		s.Log.Add(r.Received, reqlog.Entry{Model: m.Name(), ID: r.ID, Parent: x.Request.Header.Get("Traceparent"), Replied: replied.UnixNano(), Events: times})
	})
	if out.Cut() || errors.Is(err, stream.ErrCut) {
		panic(http.ErrAbortHandler) // the way of net/http to end a connection within a response
	}
}

// events sends the responses until the last one, or until the script or the client ends the stream.
func (s *Server) events(x *exchange, m *model.Model, r *infer.Request, responses *infer.Mailbox, script stream.Script, out *stream.Writer) error {
	for last := false; !last; {
		resp := responses.Take()
		if last = resp.Final; resp.Empty() {
			continue
		}
		if out.Events() == script.Stop {
			break
		}
		body, err := s.flatResponse(m, r, resp)
		if out.Events() == script.Fail {
			err = errOnPurpose
		}
		switch {
		case err != nil && !out.Started():
			x.fail(err)
			return nil
		case err != nil:
			return out.Event("", errorBody(err), 0)
		}
		if err := out.Event("", body, 1); err != nil {
			return err
		}
	}
	out.Start() // a stream may be without events
	return nil
}

// flatResponse is the JSON of a response: names and outputs as members of one object. A tensor of one element is a plain value.
func (s *Server) flatResponse(m *model.Model, r *infer.Request, resp *infer.Response) ([]byte, error) {
	if resp.Err != nil {
		return nil, resp.Err
	}
	members := map[string]any{"model_name": m.Name(), "model_version": resp.Version}
	if r.ID != "" {
		members["id"] = r.ID
	}
	for _, t := range resp.Outputs {
		data, err := elements(t.Name, t.Type, t.Data)
		if err != nil {
			return nil, err
		}
		if t.Shape.Elements() == 1 {
			data = data[1 : len(data)-1]
		}
		members[t.Name] = data
	}
	return json.Marshal(members)
}
