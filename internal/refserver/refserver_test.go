package refserver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver"
)

func start(t *testing.T, cfg refserver.Config) *refserver.Server {
	t.Helper()
	s, err := refserver.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func dial(t *testing.T, s *refserver.Server) kserve.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return kserve.NewGRPCInferenceServiceClient(conn)
}

// call sends an HTTP request and gives status, content type and body; a body makes it a POST.
func call(t *testing.T, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

const (
	sixteen = `[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]`
	first   = `{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":` + sixteen + `}`
	second  = `{"name":"INPUT1","datatype":"INT32","shape":[1,16],"data":` + sixteen + `}`
)

func TestInferJSON(t *testing.T) {
	s := start(t, refserver.Config{})
	_, _, got := call(t, "http://"+s.Addresses().HTTP+"/v2/models/simple/versions/1/infer", `{"id":"42","inputs":[`+first+`,`+second+`]}`)
	want := `{"id":"42","model_name":"simple","model_version":"1","outputs":[` +
		`{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"data":[2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32]},` +
		`{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"data":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInferBinary(t *testing.T) {
	s := start(t, refserver.Config{})
	head := `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}],"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`
	_, header, got := call(t, "http://"+s.Addresses().HTTP+"/v2/models/custom_identity_fp32/infer", head+"abcdefgh", "Inference-Header-Content-Length", fmt.Sprint(len(head)))
	want := `{"model_name":"custom_identity_fp32","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}`
	if got != want+"abcdefgh" {
		t.Errorf("got %q", got)
	}
	if n := header.Get("Inference-Header-Content-Length"); n != fmt.Sprint(len(want)) {
		t.Errorf("header length %s, want %d", n, len(want))
	}
}

// Statuses are Triton's; the texts tell what is wrong.
func TestWrongRequests(t *testing.T) {
	s := start(t, refserver.Config{})
	f := func(path, body string, status int, text string) {
		t.Helper()
		got, _, answer := call(t, "http://"+s.Addresses().HTTP+path, body)
		if got != status || !strings.Contains(answer, text) {
			t.Errorf("%s %s\n got %d %s\nwant %d %s", path, body, got, answer, status, text)
		}
	}
	const simple = "/v2/models/simple/infer"
	inputs := func(list ...string) string { return `{"inputs":[` + strings.Join(list, ",") + `]}` }
	f("/", "", 404, "")
	f("/v2/models/nope", "", 404, "Request for unknown model: 'nope' is not found")
	f("/v2/models/simple/versions/3", "", 404, "Request for unknown model: 'simple' version 3 is not found")
	f("/v2/models/simple/versions/new", "", 404, "the version of a model is a number, not 'new'")
	f("/v2/models/nope/ready", "", 400, "'nope' is not found")
	f("/v2/models/nope/stats", "", 400, "requested model 'nope' is not available")
	f(simple, "", 405, "")
	f("/v2/models/repeat_int32/infer", "{}", 501, "use a gRPC stream or generate_stream")
	f(simple, `{}`, 500, "'inputs' must be an array")
	f(simple, `{"a":tru}`, 500, "the JSON of the request cannot be read: invalid character '}'")
	f(simple, `{"inputs":7}`, 500, "cannot unmarshal number")
	f(simple, `{"inputs":[{}]}`, 400, "an input must have one of 'data'")
	f(simple, `{"inputs":[{"data":[1]}]}`, 500, "an input must have a name, a datatype and a shape")
	f(simple, inputs(first), 400, "expected 2 inputs but got 1 inputs for model 'simple'; missing are ['INPUT1']")
	f(simple, inputs(first, first), 400, "input 'INPUT0' already exists in request")
	f(simple, inputs(first, strings.Replace(second, "INPUT1", "X", 1)), 400, "missing are ['INPUT1']")
	f(simple, `{"inputs":[`+first+`,`+second+`],"outputs":[{"name":"NOPE"}]}`, 400, "unexpected inference output 'NOPE' for model 'simple'")
	f(simple, inputs(first, strings.Replace(second, "INT32", "FP32", 1)), 400, "inference input 'INPUT1' data-type is 'FP32', but model 'simple' expects 'INT32'")
	f(simple, inputs(first, strings.Replace(second, "[1,16]", "[2,8]", 1)), 400, "the inputs of model 'simple' have different batch sizes: 'INPUT1' has 2, another 1")
	f(simple, inputs(first, strings.Replace(second, "[1,16]", "[1,17]", 1)), 500, "16 elements do not have the shape [1,17]")
	f(simple, inputs(first, strings.Replace(second, "[1,2", `["1",2`, 1)), 500, "the data of input 'INPUT1': element 0 does not fit the datatype INT32")
	f(simple, `{"inputs":[`+first+`,`+second+`],"parameters":{"priority":-1}}`, 500, "'priority' must be a whole number of at least 0")
	const step = `"inputs":[{"name":"INPUT","datatype":"INT32","shape":[1,1],"data":[5]}]}`
	f("/v2/models/sequence_accumulate/infer", `{"parameters":{"sequence_id":777},`+step, 400, "for sequence 777 to model 'sequence_accumulate' must specify the START flag on the first request of the sequence")
	f("/v2/models/sequence_accumulate/infer", `{`+step, 400, "must specify a non-zero or non-empty correlation ID")
	f("/v2/repository/models/simple/load", "{}", 503, "--model-control-mode explicit")
	f("/v2/systemsharedmemory/region/x/register", `{"key":"/nonexist","offset":0,"byte_size":64}`, 500, "'/nonexist'")
}

func simpleRequest(id string) *kserve.ModelInferRequest {
	data := bytes.Repeat([]byte{3, 0, 0, 0}, 16)
	in := func(name string) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1, 16}}
	}
	return &kserve.ModelInferRequest{
		ModelName: "simple", Id: id, Inputs: []*kserve.ModelInferRequest_InferInputTensor{in("INPUT0"), in("INPUT1")},
		RawInputContents: [][]byte{data, data},
	}
}

func statistics(t *testing.T, c kserve.GRPCInferenceServiceClient, name string) *kserve.ModelStatistics {
	t.Helper()
	got, err := c.ModelStatistics(t.Context(), &kserve.ModelStatisticsRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return got.GetModelStats()[0]
}

func TestStatisticsAddUp(t *testing.T) {
	s := start(t, refserver.Config{})
	c := dial(t, s)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if _, err := c.ModelInfer(t.Context(), simpleRequest("")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := statistics(t, c, "simple")
	st := got.GetInferenceStats()
	for name, d := range map[string]*kserve.StatisticDuration{
		"success": st.GetSuccess(), "queue": st.GetQueue(), "compute_input": st.GetComputeInput(), "compute_infer": st.GetComputeInfer(), "compute_output": st.GetComputeOutput(),
	} {
		if d.GetCount() != 200 {
			t.Errorf("%s counts %d, want 200", name, d.GetCount())
		}
	}
	parts := st.GetQueue().GetNs() + st.GetComputeInput().GetNs() + st.GetComputeInfer().GetNs() + st.GetComputeOutput().GetNs()
	if parts > st.GetSuccess().GetNs() {
		t.Errorf("the stages took %d ns, longer than the requests with %d ns", parts, st.GetSuccess().GetNs())
	}
	var executions, inferences uint64
	for _, b := range got.GetBatchStats() {
		executions += b.GetComputeInfer().GetCount()
		inferences += b.GetBatchSize() * b.GetComputeInfer().GetCount()
	}
	if executions != got.GetExecutionCount() || inferences != got.GetInferenceCount() || inferences != 200 {
		t.Errorf("batches say %d executions and %d inferences, the counters %d and %d", executions, inferences, got.GetExecutionCount(), got.GetInferenceCount())
	}
}

func identityRequest(model string) *kserve.ModelInferRequest {
	return &kserve.ModelInferRequest{
		ModelName: model, Inputs: []*kserve.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "FP32", Shape: []int64{1, 1}}},
		RawInputContents: [][]byte{{0, 0, 128, 63}},
	}
}

// The model waits for batches of four, for much longer than the test takes.
func TestDynamicBatchingJoinsWaitingRequests(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "fours", `
backend: "identity"
max_batch_size: 4
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1 ] } ]
dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 600000000 }
`, "1")
	c := dial(t, start(t, refserver.Config{Repositories: []string{dir}}))
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			if _, err := c.ModelInfer(t.Context(), identityRequest("fours")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := statistics(t, c, "fours")
	if b := got.GetBatchStats(); got.GetExecutionCount() != 6 || len(b) != 1 || b[0].GetBatchSize() != 4 {
		t.Errorf("24 requests were executed %d times, in batches %v", got.GetExecutionCount(), b)
	}
}

func TestScriptedExecutionTakesItsTime(t *testing.T) {
	c := dial(t, start(t, refserver.Config{}))
	if _, err := c.ModelInfer(t.Context(), identityRequest("slow_identity")); err != nil {
		t.Fatal(err)
	}
	if took := time.Duration(statistics(t, c, "slow_identity").GetInferenceStats().GetComputeInfer().GetNs()); took < 20*time.Millisecond {
		t.Errorf("compute took %v, less than the scripted 20 ms", took)
	}
}

func TestPinnedDelay(t *testing.T) {
	var log bytes.Buffer
	s := start(t, refserver.Config{Delays: map[string]time.Duration{"simple": 5 * time.Millisecond}, RequestLog: &log})
	c := dial(t, s)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			sent := time.Now()
			if _, err := c.ModelInfer(t.Context(), simpleRequest(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
			if took := time.Since(sent); took < 5*time.Millisecond {
				t.Errorf("answer %d after %v", i, took)
			}
		})
	}
	wg.Wait()
	if got := statistics(t, c, "simple"); got.GetExecutionCount() != 16 || got.GetInferenceStats().GetSuccess().GetNs() < uint64(16*4*time.Millisecond) {
		t.Errorf("statistics do not show the delay: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(log.String()) {
		var l struct {
			Model, ID  string
			ReceivedNs int64 `json:"received_ns"`
			RepliedNs  int64 `json:"replied_ns"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if l.Model != "simple" || l.RepliedNs-l.ReceivedNs < int64(5*time.Millisecond) {
			t.Errorf("log line %q", line)
		}
		seen[l.ID] = true
	}
	if len(seen) != 16 {
		t.Errorf("the log has %d of 16 requests", len(seen))
	}
}

// Every method is answered with a message of a given size, however many messages the request has.
func TestAnyMethod(t *testing.T) {
	var log bytes.Buffer
	s := start(t, refserver.Config{AnyMethod: 200, Delays: map[string]time.Duration{"any-method": 5 * time.Millisecond}, RequestLog: &log})
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const method = "/inference.GRPCInferenceService/ServerLive" // one of its own, and any other
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.ForceCodecV2(bytesCodec{}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := stream.SendMsg([]byte("no protobuf")); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := stream.RecvMsg(&got); err != nil || len(got) != 200 {
		t.Errorf("%d bytes, want 200: %v", len(got), err)
	}
	if err := stream.RecvMsg(&got); !errors.Is(err, io.EOF) {
		t.Errorf("a second response: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var l struct {
		Model      string
		ReceivedNs int64 `json:"received_ns"`
		RepliedNs  int64 `json:"replied_ns"`
	}
	if err := json.Unmarshal(log.Bytes(), &l); err != nil || l.Model != method || l.RepliedNs-l.ReceivedNs < int64(5*time.Millisecond) {
		t.Errorf("log %q: %v", log.String(), err)
	}
}

// bytesCodec sends and receives bytes as they are.
type bytesCodec struct{}

func (bytesCodec) Name() string { return "proto" }

func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func TestUnknownDelayIsRefused(t *testing.T) {
	_, err := refserver.Start(t.Context(), refserver.Config{Delays: map[string]time.Duration{"nope": time.Second}})
	if err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("got %v", err)
	}
}

func uint32s(list ...uint32) []byte {
	var b []byte
	for _, n := range list {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func flag(v bool) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: v}}
}

func TestDecoupledStream(t *testing.T) {
	s := start(t, refserver.Config{})
	c := dial(t, s)
	stream, err := c.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name, kind string, n int64) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: kind, Shape: []int64{n}}
	}
	req := &kserve.ModelInferRequest{
		ModelName: "repeat_int32", Id: "r", Parameters: map[string]*kserve.InferParameter{"triton_enable_empty_final_response": flag(true)},
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{in("IN", "INT32", 3), in("DELAY", "UINT32", 3), in("WAIT", "UINT32", 1)},
		RawInputContents: [][]byte{uint32s(7, 8, 9), uint32s(0, 1, 1), uint32s(0)},
	}
	if err := stream.Send(req); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		r := m.GetInferResponse()
		text := fmt.Sprintf("%s final=%v", r.GetId(), r.GetParameters()["triton_final_response"].GetBoolParam())
		for _, raw := range r.GetRawOutputContents() {
			text += fmt.Sprint(" ", binary.LittleEndian.Uint32(raw))
		}
		got = append(got, text)
	}
	want := []string{"r final=false 7 0", "r final=false 8 1", "r final=false 9 2", "r final=true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(statistics(t, c, "repeat_int32").GetResponseStats()); n != 4 {
		t.Errorf("statistics of %d responses, want 4", n)
	}
}

func TestStreamKeepsOrderAndSurvivesErrors(t *testing.T) {
	s := start(t, refserver.Config{})
	c := dial(t, s)
	stream, err := c.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		req := simpleRequest(fmt.Sprint(i))
		if i == 7 {
			req.ModelName = "nope"
		}
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if m.GetInferResponse().GetId() != fmt.Sprint(i) || (m.GetErrorMessage() != "") != (i == 7) {
			t.Errorf("answer %d: id %s, error %q", i, m.GetInferResponse().GetId(), m.GetErrorMessage())
		}
	}
}

func TestGenerateStream(t *testing.T) {
	s := start(t, refserver.Config{})
	url := "http://" + s.Addresses().HTTP + "/v2/models/ensemble/"
	_, header, got := call(t, url+"generate_stream", `{"text_input":"hello world","max_tokens":2,"stream":true}`)
	line := func(token string) string {
		return `data: {"model_name":"ensemble","model_version":"1","text_output":"` + token + `"}` + "\n\n"
	}
	if diff := cmp.Diff(line(" tok6601")+line(" tok6602"), got); diff != "" {
		t.Error(diff)
	}
	if kind := header.Get("Content-Type"); kind != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %s", kind)
	}
	_, _, got = call(t, url+"generate", `{"text_input":"hello world","max_tokens":4,"stream":false}`)
	if !strings.HasSuffix(got, `"text_output":" tok6601 tok6602 tok6603 tok6604"}`) {
		t.Errorf("got %s", got)
	}
}

func TestLoadAndUnload(t *testing.T) {
	s := start(t, refserver.Config{Explicit: true, Load: []string{"simple"}})
	url := "http://" + s.Addresses().HTTP + "/v2/"
	_, _, index := call(t, url+"repository/index", `{"ready":true}`)
	if want := `[{"name":"simple","version":"1","state":"READY"}]`; index != want {
		t.Errorf("index %s", index)
	}
	expect := func(path, body string, want int) {
		t.Helper()
		if got, _, text := call(t, url+path, body); got != want {
			t.Errorf("%s: %d %s, want %d", path, got, text, want)
		}
	}
	expect("repository/models/ensemble_chain/load", "{}", 200) // brings its steps along
	expect("models/identity_stage2_fp32/ready", "", 200)
	expect("repository/models/simple/unload", "{}", 200)
	expect("models/simple/ready", "", 400)
	expect("repository/models/simple/load", `{"parameters":{"config":"{\"name\":\"simple\",\"backend\":\"identity\",\"max_batch_size\":2,\"input\":[{\"name\":\"A\",\"data_type\":\"TYPE_FP32\",\"dims\":[1]}],\"output\":[{\"name\":\"B\",\"data_type\":\"TYPE_FP32\",\"dims\":[1]}]}"}}`, 200)
	expect("models/simple/infer", `{"inputs":[{"name":"A","datatype":"FP32","shape":[1,1],"data":[1]}]}`, 200)
	expect("repository/models/nope/load", "{}", 500)
}

func TestMetrics(t *testing.T) {
	s := start(t, refserver.Config{GPUs: 1})
	call(t, "http://"+s.Addresses().HTTP+"/v2/models/simple/infer", `{"inputs":[`+first+`,`+second+`]}`)
	_, _, text := call(t, "http://"+s.Addresses().Metrics+"/metrics", "")
	for _, line := range []string{
		`nv_inference_request_success{model="simple",version="1"} 1`,
		`nv_inference_request_failure{model="simple",reason="BACKEND",version="1"} 0`,
		`nv_inference_count{model="flaky",version="1"} 0`,
		`nv_gpu_memory_total_bytes{gpu_uuid="GPU-00000000-0000-0000-0000-000000000000"} 85899345920`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}
