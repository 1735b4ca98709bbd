package inspect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rest"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/service/openai"
	"github.com/redline-bench/redline/internal/service/tfserving"
	"github.com/redline-bench/redline/internal/workload"
)

var noData = plan.Input{Batch: 1, SharedMemory: plan.NoSharedMemory}

func open(t plan.Target) (service.Service, error) {
	switch {
	case t.Kind == plan.OpenAI:
		return openai.New(t)
	case t.Kind == plan.TFServing:
		return tfserving.New(t, noData)
	case t.Protocol == plan.GRPC:
		return rpc.New(t, noData)
	}
	return rest.New(t, noData)
}

func ask(t plan.Target) *inspect.Question {
	return &inspect.Question{Target: t, Open: open, Timeout: 10 * time.Second}
}

func look(t *testing.T, target plan.Target) *inspect.Report {
	t.Helper()
	r, err := ask(target).Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func reference(t *testing.T, cfg refserver.Config) refserver.Addresses {
	t.Helper()
	s, err := refserver.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.Addresses()
}

func TestKindAndProtocolAreFoundOut(t *testing.T) {
	at := reference(t, refserver.Config{})
	f := func(url, model, want string) {
		t.Helper()
		r := look(t, plan.Target{URL: url, Model: model})
		if got := r.What(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
		if r.Took <= 0 && r.ModelsErr == "" {
			t.Errorf("%s: no time", url)
		}
	}
	f(at.HTTP, "", "triton 2.51.0, KServe v2 over HTTP")
	f("http://"+at.HTTP, "", "triton 2.51.0, KServe v2 over HTTP")
	f(at.GRPC, "", "triton 2.51.0, KServe v2 over gRPC")
	f("grpc://"+at.GRPC, "simple", "triton 2.51.0, KServe v2 over gRPC")
	f(at.OpenAI, "", "redline, OpenAI API over HTTP")
	f(at.TFServing, "simple", "TensorFlow Serving over gRPC")
}

// The input file of every model of the reference server is one that profile takes, and so is the command line.
func TestInputsAndCommandsWork(t *testing.T) {
	at := reference(t, refserver.Config{})
	for _, m := range look(t, plan.Target{URL: at.HTTP}).Models {
		target := plan.Target{URL: at.GRPC, Model: m.Name}
		q := ask(target)
		q.InputFile = filepath.Join(t.TempDir(), "in put.json")
		r, err := q.Look(t.Context())
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if err := os.WriteFile(q.InputFile, r.Input, 0o600); err != nil {
			t.Fatal(err)
		}
		pl := parse(t, r.Command)
		if pl.Target.Model != m.Name || pl.Target.URL != at.GRPC || pl.Target.Protocol != plan.GRPC || pl.Target.Streaming != r.Model.Decoupled {
			t.Errorf("%s: %s", m.Name, r.Command)
		}
		svc, err := open(pl.Target)
		if err != nil {
			t.Fatal(err)
		}
		data, err := workload.Load(pl.Input, r.Model)
		if err == nil {
			_, err = workload.Prepare(t.Context(), svc, data)
		}
		if err != nil {
			t.Errorf("%s: %v\n%.300s", m.Name, err, r.Input)
		}
		svc.Close()
		// Without an input file the shapes stand in the command.
		r = look(t, target)
		pl = parse(t, r.Command)
		if _, err := workload.Load(pl.Input, r.Model); err != nil {
			t.Errorf("%s: %s: %v", m.Name, r.Command, err)
		}
	}
}

// parse reads a command line of profile as a shell would: one word may be quoted.
func parse(t *testing.T, command string) *plan.Plan {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(command, "redline profile "), "'")
	var args []string
	for i, p := range parts {
		if i%2 == 1 {
			args = append(args, p)
			continue
		}
		args = append(args, strings.Fields(p)...)
	}
	pl, _, err := flags.Parse(flags.Redline, args, nil)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return pl
}

func TestMessagesNameTheModels(t *testing.T) {
	at := reference(t, refserver.Config{})
	few := reference(t, refserver.Config{Explicit: true, Load: []string{"simple", "onnx_int32_int32_int32"}})
	f := func(url string, grpc bool, model, version, want string) {
		t.Helper()
		target := plan.Target{Kind: plan.Triton, URL: url, Model: model, Version: version}
		if grpc {
			target.Protocol = plan.GRPC
		}
		svc, err := open(target)
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		if got := inspect.Unknown(t.Context(), svc, model, version); !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s %s: %q, want %q", model, version, got, want)
		}
	}
	f(few.HTTP, false, "nobody", "", "; the server has onnx_int32_int32_int32, simple")
	f(few.GRPC, true, "nobody", "", "; the server has onnx_int32_int32_int32, simple")
	f(few.HTTP, false, "simple", "9", "; simple has version 1")
	f(few.GRPC, true, "onnx_int32_int32_int32", "1", "; onnx_int32_int32_int32 has version 2, 3")
	f(few.HTTP, false, "simple", "1", "") // the name is not what is wrong
	f(at.HTTP, false, "simple_sequences", "", "; the server has simple_sequence, simple_sequence_string, simple_string")
	f("127.0.0.1:1", false, "x", "", "")

	missing := func(target plan.Target, want string) {
		t.Helper()
		svc, err := open(target)
		if err != nil {
			t.Fatal(err)
		}
		defer svc.Close()
		if got := inspect.Missing(t.Context(), svc, target).Error(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	missing(plan.Target{URL: few.HTTP}, "-m MODEL is missing; the server has onnx_int32_int32_int32, simple")
	missing(plan.Target{URL: at.HTTP}, " and ")
	missing(plan.Target{URL: at.OpenAI, Kind: plan.OpenAI}, "-m MODEL is missing; the server has mock-llm")
	missing(plan.Target{URL: at.OpenAI, Kind: plan.Triton}, " is no KServe v2 server: this is an OpenAI server: use redline llm -m mock-llm -u ")
	missing(plan.Target{URL: "127.0.0.1:1"}, "cannot be asked which models it has: nothing listens at 127.0.0.1:1")
	missing(plan.Target{URL: at.TFServing, Kind: plan.TFServing}, "-m MODEL is missing")
}

func TestErrors(t *testing.T) {
	at := reference(t, refserver.Config{Token: "secret-token"})
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer plain.Close()
	f := func(target plan.Target, want string) {
		t.Helper()
		q := ask(target)
		q.Timeout = 2 * time.Second
		if _, err := q.Look(t.Context()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v, want %q", target, err, want)
		}
	}
	f(plan.Target{URL: "127.0.0.1:1"}, "nothing listens at 127.0.0.1:1")
	f(plan.Target{URL: at.OpenAI}, "asks for a key: give it with --api-key-env VARIABLE")
	f(plan.Target{URL: plain.Listener.Addr().String()}, "answers, but not as KServe v2 over HTTP or gRPC")
	f(plan.Target{URL: "grpc://" + plain.Listener.Addr().String(), Protocol: plan.HTTP}, "do not fit together")
	open := reference(t, refserver.Config{})
	f(plan.Target{URL: open.HTTP, Model: "nobody"}, `no description of model "nobody": Request for unknown model`)
	f(plan.Target{URL: open.OpenAI, Model: "nobody"}, `does not list the model "nobody"; the server has mock-llm`)
}

// api answers as some OpenAI servers do.
func api(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"a model","owned_by":"vllm"},{"id":"b","owned_by":"vllm"}]}`)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.9.1"}`) })
	status := func(code int, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	mux.HandleFunc("POST /v1/completions", status(http.StatusBadRequest, `{"error":"prompt is missing"}`))
	mux.HandleFunc("POST /v1/responses", status(http.StatusUnprocessableEntity, ""))
	mux.HandleFunc("POST /v1/embeddings", status(http.StatusBadRequest, `{"message":"The model does not support Embeddings API"}`))
	mux.HandleFunc("GET /rerank", status(http.StatusOK, ""))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestEndpointsThatAnswer(t *testing.T) {
	at := api(t)
	q := ask(plan.Target{URL: "http://user:pass@" + at, Headers: []plan.Header{{Name: "X-Team", Value: "hidden-value"}, {Name: "Authorization", Value: "Bearer hidden-key"}}})
	q.InputFile, q.KeyVariable = "p.jsonl", "KEY"
	r, err := q.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, e := range r.Endpoints {
		if e.Answers {
			answers = append(answers, fmt.Sprintf("%s %s %d", e.Type, e.Path, e.Status))
		}
	}
	if d := cmp.Diff([]string{"completions /v1/completions 400", "responses /v1/responses 422"}, answers); d != "" {
		t.Error(d)
	}
	want := "redline llm -m 'a model' -u 'http://***@" + at + "' --endpoint-type completions --streaming --osl 128 --input-file p.jsonl" +
		" --api-key-env KEY -H 'X-Team: ***' --concurrency 1,8"
	if d := cmp.Diff(want, r.Command); d != "" {
		t.Error(d)
	}
	if got := r.What(); got != "vllm 0.9.1, OpenAI API over HTTP" {
		t.Error(got)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	r.Text(&b)
	for _, secret := range []string{"hidden", "pass"} {
		if strings.Contains(string(text)+b.String(), secret) {
			t.Errorf("%q is printed", secret)
		}
	}
	q.Brief = true
	if r, err = q.Look(t.Context()); err != nil || r.Endpoints != nil {
		t.Errorf("brief: %v, %v", r.Endpoints, err)
	}
}

// A KServe server without a model repository may list its models elsewhere, or not at all.
func TestListsWithoutRepository(t *testing.T) {
	f := func(list string, models int, fault string) {
		t.Helper()
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v2", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"name":"ovms","version":"1"}`) })
		if list != "" {
			mux.HandleFunc("GET /v2/models", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, list) })
		}
		s := httptest.NewServer(mux)
		defer s.Close()
		r := look(t, plan.Target{URL: s.Listener.Addr().String()})
		if len(r.Models) != models || !strings.Contains(r.ModelsErr, fault) || (fault == "") != (r.ModelsErr == "") {
			t.Errorf("%s: %+v", list, r)
		}
		var b bytes.Buffer
		r.Text(&b)
		if fault != "" && !strings.Contains(b.String(), "Models   no list: ") {
			t.Error(b.String())
		}
	}
	f(`{"models":["a","b"]}`, 2, "")
	f(`{"models":[]}`, 0, "")
	f(`{}`, 0, "it has no list of models")
	f("", 0, "the server does not list its models")
}

func TestText(t *testing.T) {
	at := reference(t, refserver.Config{})
	r := look(t, plan.Target{URL: at.HTTP, Model: "repeat_int32"})
	host := at.HTTP[:strings.LastIndexByte(at.HTTP, ':')]
	want := `Server     triton 2.51.0, KServe v2 over HTTP
Address    ` + at.HTTP + `
Model      repeat_int32
Platform   repeat
Batching   no
Sequences  no
Decoupled  yes: a request can have any number of responses

Inputs
  IN     INT32   [-1]
  DELAY  UINT32  [-1]
  WAIT   UINT32  [1]

Outputs
  OUT  INT32   [1]
  IDX  UINT32  [1]

Measure it
  redline profile -m repeat_int32 -u ` + host + `:8001 -i grpc --async --streaming --shape IN:8 --shape DELAY:8 --concurrency-range 1:8
  (a decoupled model needs gRPC: correct the port if ` + host + `:8001 is not the server's gRPC port)
  (variable dimensions of IN, DELAY are set to 8: choose the sizes of your requests)
`
	var b bytes.Buffer
	r.Text(&b)
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	f := func(model string, want ...string) {
		t.Helper()
		b.Reset()
		look(t, plan.Target{URL: at.HTTP, Model: model}).Text(&b)
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: %s lacks %q", model, b.String(), w)
			}
		}
	}
	f("", "Models   34, all ready\n\n  NAME ", "onnx_int32_int32_int32       2        ready\n")
	f("ensemble_chain", "\nSteps\n  custom_identity_fp32\n  identity_stage2_fp32\n")
	f("simple_sequence", "Sequences  yes: requests belong to sequences\n")
	f("identity_optional", "  INPUT1  FP32  [-1]  optional\n")
	b.Reset()
	cached := look(t, plan.Target{URL: at.HTTP, Model: "simple"})
	cached.Model.Cache = true // the reference server has no cache
	if cached.Text(&b); !strings.Contains(b.String(), "Cache      a response cache answers repeated requests\n") {
		t.Error(b.String())
	}
}
