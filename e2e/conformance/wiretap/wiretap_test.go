package wiretap

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
)

// What goes through the proxy arrives as it was, and is written down.
func TestHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	var log Log
	p, err := HTTP(t.Context(), strings.TrimPrefix(server.URL, "http://"), &log)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.Addr+"/v2/x", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		echo, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(echo) != "hello" {
			t.Errorf("%q, %v", echo, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	list := log.Take()
	if len(list) != 4 || !list[1].Answer || list[2].Line != "POST /v2/x" || !bytes.Equal(list[2].Body, []byte("hello")) {
		t.Errorf("%+v", list)
	}
}

func TestNormalize(t *testing.T) {
	infer := func(id, body string) Request {
		head := `{"id":"` + id + `","parameters":{"sequence_id":7,"sequence_start":true,"sequence_end":false}}`
		return Request{Line: "POST /v2/models/m/infer", Headers: []string{"Host: a", "Inference-Header-Content-Length: " + strconv.Itoa(len(head))}, Body: []byte(head + body)}
	}
	list := []Request{{Line: "GET /v2/models/m"}, {Line: "GET /v2"}, {Line: "GET /v2/models/m"}, infer("281474976710656", "abcd"), infer("281474976710657", "efgh")}
	got := Normalize(list, false)
	want := []string{
		"GET /v2 | ", "GET /v2/models/m | ", "2 inferences, 0 without an id",
		`2 times POST /v2/models/m/infer | Host: # | Inference-Header-Content-Length | {"id":"#","parameters":{"sequence_id":#,"sequence_start":true,"sequence_end":false}} | 4 bytes`,
		"ids of thread 1: 0 to 1", "sequence 7: start start",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if exact := Normalize(list, true); len(exact) != len(want)+1 {
		t.Errorf("data that differs is taken as the same: %q", exact)
	}
}

// Whether a sequence waits for its responses shows in how they lie between its requests.
func TestRequestsOnTheirWay(t *testing.T) {
	const line = "several requests of one sequence are on their way at once"
	infer := func(call int) Request {
		return Request{Call: call, Line: "POST /v2/models/m/infer", Body: []byte(`{"id":"","parameters":{"sequence_id":7}}`)}
	}
	answer := func(call int) Request { return Request{Call: call, Answer: true} }
	f := func(want bool, list ...Request) {
		t.Helper()
		if got := Normalize(list, false); slices.Contains(got, line) != want {
			t.Errorf("%q", got)
		}
	}
	f(true, infer(1), infer(2), infer(3), answer(2), answer(1), answer(3))
	f(false, infer(1), answer(1), infer(1), answer(1), answer(1), infer(2), infer(1), answer(1), answer(2))
}

func TestNormalizeMessages(t *testing.T) {
	msg, err := proto.Marshal(&pb.ModelInferRequest{
		ModelName: "m", Id: "3",
		Parameters:       map[string]*pb.InferParameter{"sequence_id": {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 5}}, "sequence_end": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: true}}},
		Inputs:           []*pb.ModelInferRequest_InferInputTensor{{Name: "A", Datatype: "INT32", Shape: []int64{1, 2}}},
		RawInputContents: [][]byte{make([]byte, 8)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Normalize([]Request{{Method: "ServerMetadata"}, {Method: "ModelStreamInfer", Call: 1, Message: msg, Metadata: map[string][]string{"a": {"b"}, "user-agent": {"x"}}}}, false)
	want := []string{
		"ServerMetadata | {}", "1 inferences, 0 without an id",
		`1 times ModelStreamInfer | a: ["b"] | model "m" version "" id "#" {sequence_end={"boolParam":true} sequence_id={"stringParam":"int64 #"}} | input A INT32 [1 2] {} | raw 8 bytes`,
		"ids of thread 0: 3 to 3", "sequence 5: end", "1 streams",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
