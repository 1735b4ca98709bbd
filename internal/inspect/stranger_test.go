package inspect_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/plan"
)

// A server that is not of the kind that was asked for is known by its response to one request.
func TestStranger(t *testing.T) {
	const fastAPI = `404 {"detail":"Not Found"}`
	openAI := func(id, owner string) string {
		return `200 {"object":"list","data":[{"id":"` + id + `","object":"model","created":1766059200,"owned_by":"` + owner + `"}]}`
	}
	f := func(k plan.Kind, path, answer, want string) {
		t.Helper()
		var asked atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			status, body := 404, fastAPI[4:]
			if r.URL.Path == path {
				fmt.Sscan(answer, &status)
				body = answer[4:]
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		defer s.Close()
		url := s.Listener.Addr().String()
		got := inspect.Stranger(t.Context(), plan.Target{Kind: k, Protocol: plan.HTTP, URL: url}, false)
		if got = strings.ReplaceAll(got, url, "ADDRESS"); got != want || asked.Load() != 1 {
			t.Errorf("%s: got %q after %d requests, want %q", answer, got, asked.Load(), want)
		}
	}
	const noKServe, models = "ADDRESS is no KServe v2 server: this is ", "/v1/models"
	f(plan.Triton, models, openAI("tiny", "vllm"), noKServe+"vLLM: use redline llm -m tiny -u ADDRESS")
	f(plan.Triton, models, openAI("org/tiny it", "sglang"), noKServe+"SGLang: use redline llm -m 'org/tiny it' -u ADDRESS")
	f(plan.Triton, models, openAI("tiny", "llamacpp"), noKServe+"llama.cpp: use redline llm -m tiny -u ADDRESS")
	f(plan.Triton, models, openAI("llama3:latest", "library"), noKServe+"Ollama: use redline llm -m llama3:latest -u ADDRESS")
	f(plan.Triton, models, openAI("tiny", "tiny"), noKServe+"TGI: use redline llm -m tiny -u ADDRESS")
	f(plan.Triton, models, openAI("tiny", "me"), noKServe+"an OpenAI server: use redline llm -m tiny -u ADDRESS")
	f(plan.Triton, models, `200 {"data":[]}`, noKServe+"an OpenAI server: use redline llm -m MODEL -u ADDRESS")
	f(plan.Triton, models, `401 {"error":"Unauthorized"}`, noKServe+"perhaps an OpenAI server that asks for a key: use redline llm -u ADDRESS --api-key-env VARIABLE")
	f(plan.Triton, models, `400 {"error": "Malformed request: GET /v1/models"}`,
		noKServe+"TensorFlow Serving: use redline profile --service-kind tfserving -i grpc -m MODEL with its gRPC port, usually 8500")
	f(plan.Triton, models, `404 {"code": 404, "type": "ResourceNotFoundException", "message": "Requested resource is not found, please refer to API document."}`,
		noKServe+"TorchServe: use redline profile --service-kind torchserve -m MODEL --input-data FILE -u ADDRESS")
	f(plan.Triton, models, `200 {"models":["echo"]}`, "") // KServe's runtime
	f(plan.Triton, models, "200 <html>", "")
	f(plan.Triton, models, fastAPI, "")

	const noLLM = "ADDRESS is no server of language models: this is "
	f(plan.OpenAI, "/v2", `200 {"name":"triton","version":"2.51.0","extensions":[]}`, noLLM+"Triton 2.51.0: use redline profile -m MODEL -u ADDRESS")
	f(plan.OpenAI, "/v2", `200 {"name":"mlserver","version":"1.7.1","extensions":[]}`, noLLM+"MLServer 1.7.1: use redline profile -m MODEL -u ADDRESS")
	f(plan.OpenAI, "/v2", `200 {"name":"kserve","version":"0.21.0","extensions":["model_repository_extension"]}`, noLLM+"KServe's runtime 0.21.0: use redline profile -m MODEL -u ADDRESS")
	f(plan.OpenAI, "/v2", `200 {"name":"OpenVINO Model Server","version":"2025.1"}`, noLLM+"OpenVINO Model Server 2025.1: use redline profile -m MODEL -u ADDRESS")
	f(plan.OpenAI, "/v2", `200 {"name":"evil\u001b[31m","version":"1"}`, noLLM+"evil [31m 1: use redline profile -m MODEL -u ADDRESS")
	f(plan.OpenAI, "/v2", `400 {"error": "Malformed request: GET /v2"}`, noLLM+"TensorFlow Serving: use redline profile --service-kind tfserving -i grpc -m MODEL with its gRPC port, usually 8500")
	f(plan.OpenAI, "/v2", "200 {}", "")
	f(plan.OpenAI, "/v2", fastAPI, "")
}

// Without an answer the text is about the port alone.
func TestStrangerAtMetrics(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := inspect.Stranger(ctx, plan.Target{Kind: plan.OpenAI, Protocol: plan.HTTP, URL: "127.0.0.1:8002"}, false)
	if !strings.HasSuffix(got, "8002 is usually the port of Triton's metrics, 8000 that of HTTP, 8001 that of gRPC") {
		t.Error(got)
	}
}
