package kserve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/tensor"
)

// exchange is one request over HTTP and the response to it.
type exchange struct {
	http.ResponseWriter
	*http.Request
	sent bool // the response was written
}

const (
	jsonType   = "application/json"
	headLength = "Inference-Header-Content-Length"
)

// reply sends what an endpoint returned.
func (x *exchange) reply(v any, err error) {
	switch {
	case x.sent:
	case err != nil:
		x.fail(err)
	case v == nil:
		x.send(http.StatusOK, jsonType, nil)
	default:
		if m, ok := v.(proto.Message); ok {
			v = plain(m.ProtoReflect())
		}
		body, _ := json.Marshal(v) // all our values can be written
		x.send(http.StatusOK, jsonType, body)
	}
}

func (x *exchange) fail(err error) {
	x.send(infer.HTTPStatus(err), jsonType, errorBody(err))
}

func errorBody(err error) []byte {
	body, _ := json.Marshal(map[string]string{"error": err.Error()}) // texts can always be written
	return body
}

// send writes a whole response. It ignores write errors, because they mean that the client has gone.
func (x *exchange) send(status int, kind string, parts ...[]byte) {
	x.sent = true
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	x.ResponseWriter.Header().Set("Content-Type", kind)
	x.ResponseWriter.Header().Set("Content-Length", strconv.Itoa(length))
	x.WriteHeader(status)
	for _, p := range parts {
		if _, err := x.ResponseWriter.Write(p); err != nil {
			return
		}
	}
}

// maxUpfront limits the memory that is allocated because of a Content-Length alone.
const maxUpfront = 1 << 26

// body reads the request's body. A known length is allocated at once, but a very large one only when part of it has arrived.
func (x *exchange) body() (data []byte, err error) {
	length := x.ContentLength
	switch {
	case x.Request.Header.Get("Content-Encoding") != "":
		return nil, infer.Errorf(infer.Unsupported, "the request is compressed; send it as it is")
	case length < 0:
		data, err = io.ReadAll(x.Body)
	default:
		data = make([]byte, min(length, maxUpfront))
		if _, err = io.ReadFull(x.Body, data); err == nil && length > maxUpfront {
			data = slices.Grow(data, int(length-maxUpfront))[:length]
			_, err = io.ReadFull(x.Body, data[maxUpfront:])
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, bad("the request cannot be read: %v", err)
	}
	return data, nil
}

// decode reads a JSON body; no body changes nothing.
func (x *exchange) decode(to any) error {
	body, err := x.body()
	if err != nil || len(body) == 0 {
		return err
	}
	return decode(body, to)
}

func decode(text []byte, to any) error {
	err := json.Unmarshal(text, to)
	if _, ours := errors.AsType[*infer.Error](err); err == nil || ours {
		return err
	}
	return infer.Errorf(infer.Malformed, "the JSON of the request cannot be read: %v", err)
}

// inferHTTP answers /infer.
func (s *Server) inferHTTP(x *exchange) (any, error) {
	m, err := s.single(x.PathValue("model"), x.PathValue("version"))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	body, err := x.body()
	if err != nil {
		return nil, err
	}
	received := time.Now()
	defer s.tidy(len(body))
	in, err := x.message(m, body)
	if err != nil {
		return nil, err
	}
	r, out, err := s.answerOnce(x.Context(), m, in, "HTTP_RECV", began, received)
	if err != nil {
		return nil, err
	}
	defer r.Trace.End()
	head, tails, err := written(r, out)
	if err != nil {
		return nil, err
	}
	r.Trace.Mark("HTTP_SEND_START", time.Now())
	kind := jsonType
	if len(tails) > 0 {
		kind = "application/octet-stream"
		x.ResponseWriter.Header()[headLength] = []string{strconv.Itoa(len(head))}
	}
	x.send(http.StatusOK, kind, append([][]byte{head}, tails...)...)
	r.Trace.Mark("HTTP_SEND_END", time.Now())
	if s.Log.On() {
		_ = http.NewResponseController(x.ResponseWriter).Flush() // a client that has gone is noted anyway
		s.Log.Add(received, reqlog.Entry{Model: m.Name(), ID: r.ID, Parent: x.Request.Header.Get("Traceparent")})
	}
	return nil, nil
}

// outputJSON is an output of a response.
type outputJSON struct {
	Name       string          `json:"name"`
	Datatype   string          `json:"datatype"`
	Shape      []int64         `json:"shape"`
	Parameters map[string]int  `json:"parameters,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
}

// written is the JSON of a response, and the raw tensors that follow it.
func written(r *infer.Request, out *pb.ModelInferResponse) (head []byte, tails [][]byte, err error) {
	v := struct {
		ID      string       `json:"id,omitempty"`
		Model   string       `json:"model_name"`
		Version string       `json:"model_version"`
		Outputs []outputJSON `json:"outputs"`
	}{ID: out.GetId(), Model: out.GetModelName(), Version: out.GetModelVersion(), Outputs: []outputJSON{}}
	for i, o := range out.GetOutputs() {
		raw := out.GetRawOutputContents()[i]
		j := outputJSON{Name: o.GetName(), Datatype: o.GetDatatype(), Shape: o.GetShape()}
		want := r.Output(o.GetName())
		switch {
		case want != nil && want.Region.Name != "":
		case want != nil && want.Binary, want == nil && r.Binary:
			j.Parameters = map[string]int{"binary_data_size": len(raw)}
			tails = append(tails, raw)
		default:
			kind, _ := tensor.ParseDatatype(o.GetDatatype()) // a name of our own
			if j.Data, err = elements(o.GetName(), kind, raw); err != nil {
				return nil, nil, err
			}
		}
		v.Outputs = append(v.Outputs, j)
	}
	head, err = json.Marshal(v)
	return head, tails, err
}
