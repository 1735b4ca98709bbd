package refserver_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/refserver/pause"
)

// The log says when each event of a stream left, on every port that streams, at the pace that was requested.
func TestLogHasTheEventsOfStreams(t *testing.T) {
	const first, each = 4 * time.Millisecond, 2 * time.Millisecond
	var log bytes.Buffer
	s := start(t, refserver.Config{RequestLog: &log, Pace: pause.Tokens{First: first, Each: each}})
	a := s.Addresses()
	call(t, "http://"+a.OpenAI+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":3,"stream":true}`, "X-Request-Id", "chat")
	call(t, "http://"+a.OpenAI+"/v1/completions", `{"model":"m","prompt":"x","max_tokens":3,"stream":true}`, "X-Request-Id", "completion")
	call(t, "http://"+a.HTTP+"/v2/models/ensemble/generate_stream", `{"id":"generate","text_input":"x","max_tokens":3,"stream":true}`)
	stream, err := dial(t, s).ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&kserve.ModelInferRequest{
		ModelName: "tensorrt_llm", Id: "decoupled",
		Inputs: []*kserve.ModelInferRequest_InferInputTensor{
			{Name: "input_ids", Datatype: "INT32", Shape: []int64{1, 1}},
			{Name: "input_lengths", Datatype: "INT32", Shape: []int64{1, 1}},
			{Name: "request_output_len", Datatype: "INT32", Shape: []int64{1, 1}},
			{Name: "streaming", Datatype: "BOOL", Shape: []int64{1, 1}},
		},
		RawInputContents: [][]byte{uint32s(7), uint32s(1), uint32s(3), {1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("a fourth response")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(log.String()) {
		var l struct {
			ID       string
			Received int64   `json:"received_ns"`
			Events   []int64 `json:"events_ns"`
			Tokens   []int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		seen[l.ID] = true
		if len(l.Events) < 3 || len(l.Tokens) > 0 && len(l.Tokens) != len(l.Events) {
			t.Fatalf("%s", line)
		}
		for k := range 3 {
			if at := time.Duration(l.Events[k] - l.Received); at < first+time.Duration(k)*each {
				t.Errorf("%s: token %d left after %v", l.ID, k, at)
			}
		}
	}
	for _, id := range []string{"chat", "completion", "generate", "decoupled"} {
		if !seen[id] {
			t.Errorf("the log lacks %s: %s", id, log.String())
		}
	}
}
