// Package kserve_test measures the real MLServer and KServe's own runtime, from PyPI: KServe v2 servers without Triton's
// extensions. Their models count what they are given, and that is what Redline must report. They need Python 3 with venv.
package kserve_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// data states the inputs of a model with two requests.
const data = `{"data": [
  {"IN": {"content": [1, 2, 3, 4], "shape": [1, 4], "datatype": "FP32"}},
  {"IN": {"content": [5, 6, 7, 8], "shape": [1, 4], "datatype": "FP32"}}
]}`

// scenario has requests over both protocols.
const scenario = `
stages: [{rate: 40, for: 1s}]
classes:
  text: {weight: 1, profile: {model: echo, url: "%s", batch-size: 2, shape: ["IN:FP32:-1,4"]}}
  bytes: {weight: 1, profile: {model: echo, url: "%s", protocol: grpc, shape: ["IN:FP32:1,4"]}}
`

// client runs Redline against a server.
type client struct {
	*server
	bin, dir string
}

func newClient(t *testing.T, s *server) *client {
	t.Helper()
	c := &client{server: s, bin: binary.Built(t), dir: t.TempDir()}
	write(t, filepath.Join(c.dir, "data.json"), data)
	write(t, filepath.Join(c.dir, "scenario.yaml"), fmt.Sprintf(scenario, s.http, s.grpc))
	return c
}

// run runs one of the programs. HTTP and GRPC in line are the server's addresses.
func (c *client) run(t *testing.T, line string) (stdout, stderr string, code int) {
	t.Helper()
	args := strings.Fields(strings.NewReplacer("HTTP", c.http, "GRPC", c.grpc).Replace(line))
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.bin, args[0]), args[1:]...)
	cmd.Dir = c.dir
	return binary.Output(t, cmd)
}

// level is what a result has of a level.
type level struct {
	Client struct {
		Requests  int `json:"requests"`
		Failed    int `json:"failed"`
		Responses int `json:"responses"`
	} `json:"client"`
	Server *struct{} `json:"server"`
}

// measure runs `redline profile` with 60 requests and compares its result with what the model counted.
func (c *client) measure(t *testing.T, line, model string, batch int) {
	t.Helper()
	before := c.count(model)
	out, errs, code := c.run(t, "redline profile -m "+model+" "+line+" --request-count 60 --json result.json --no-history")
	after := c.count(model)
	var result struct {
		Levels []level `json:"levels"`
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "result.json"))
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil || code != 0 || len(result.Levels) != 1 {
		t.Fatalf("%s: %v, code %d\n%s\n%s", line, err, code, out, errs)
	}
	lv := &result.Levels[0]
	if got, want := after.Requests-before.Requests, lv.Client.Requests; got != want || want != 60 {
		t.Errorf("%s: the model counted %d requests, the client %d", line, got, want)
	}
	if got, want := after.Items-before.Items, 60*batch; got != want {
		t.Errorf("%s: the model counted %d items, not %d", line, got, want)
	}
	const why = "no server-side times: the server does not list the extension statistics\n"
	if lv.Client.Failed > 0 || lv.Server != nil || strings.Count(errs, why) != 1 || strings.Contains(out, "Server: ") {
		t.Errorf("%s: %+v\n%s\n%s", line, lv, out, errs)
	}
}

// says runs a program and looks for texts in what it prints.
func (c *client) says(t *testing.T, code int, line string, want ...string) {
	t.Helper()
	out, errs, got := c.run(t, line)
	for _, w := range want {
		if got != code || !strings.Contains(out+errs, w) {
			t.Errorf("%s: code %d, want %d and %q\n%s\n%s", line, got, code, w, out, errs)
			return
		}
	}
}

func TestMLServer(t *testing.T) {
	t.Parallel()
	c := newClient(t, startMLServer(t))
	// The metadata of echo state its inputs, with the batch dimension; those of bare do not.
	c.measure(t, "-u HTTP", "echo", 1)
	c.measure(t, "-u HTTP -b 8 --concurrency-range 4", "echo", 8)
	c.measure(t, "-u GRPC -i grpc -b 3 --request-rate-range 300", "echo", 3)
	c.measure(t, "-u HTTP --shape IN:5,4", "echo", 5)
	c.measure(t, "-u HTTP --shape X:INT64:-1,2 -b 2", "bare", 2)
	c.measure(t, "-u GRPC -i grpc --shape X:FP32:1,2", "bare", 1)
	c.measure(t, "-u GRPC -i grpc --input-data data.json -b 2", "bare", 2)
	c.measure(t, "-u HTTP --input-data data.json", "bare", 1)
	// Three responses to a request.
	c.measure(t, "-u GRPC -i grpc --streaming --concurrency-range 4", "three", 1)
	c.measure(t, "-u HTTP --streaming -b 2", "three", 2)
	c.says(t, 0, "redline profile -m three -u HTTP --streaming --request-count 40 --profile-export-file streamed.json --no-history")
	c.responses(t, "streamed.json", 40, 3)
	c.says(t, 0, "redline profile -m three -u GRPC -i grpc --streaming --request-count 40 --profile-export-file streamed2.json --no-history")
	c.responses(t, "streamed2.json", 40, 3)

	c.says(t, 0, "redline inspect -u HTTP", "mlserver 1.7.1, KServe v2 over HTTP", "3, all ready")
	c.says(t, 0, "redline inspect -u GRPC", "mlserver 1.7.1, KServe v2 over gRPC", "3, all ready")
	c.says(t, 0, "redline inspect -u HTTP -m echo --write-input made.json", "-b sets it", "IN  FP32  [-1,4]", "redline profile -m echo -u ")
	c.measure(t, "-u HTTP --input-data made.json -b 2", "echo", 2)
	c.says(t, 0, "redline inspect -u GRPC -m bare", "not stated by the server", "--shape NAME:DATATYPE:DIMENSIONS")
	c.scenarios(t)
	c.says(t, 0, "redline simple -m echo -u HTTP -c 40 -w 0 -b 2 --no-history", "Throughput: ")
	c.says(t, 99, "redline profile -m nobody -u HTTP", "Model nobody not found; the server has bare, echo, three")
	c.says(t, 99, "redline profile -u GRPC -i grpc", "-m MODEL is missing; the server has bare, echo, three")
	c.says(t, 99, "redline profile -m bare -u HTTP", "the server does not state the inputs of model \"bare\"")
	c.says(t, 99, "redline llm -m echo -u HTTP --request-count 2 --no-history", "this is MLServer 1.7.1: use redline profile")
	c.says(t, 99, "perf_analyzer -m echo -u HTTP", "model config: the server answered with HTTP status 404")
}

func TestKServeRuntime(t *testing.T) {
	t.Parallel()
	c := newClient(t, startKServe(t))
	c.measure(t, "-u HTTP --shape IN:FP32:-1,4", "echo", 1)
	c.measure(t, "-u HTTP --shape IN:FP32:-1,4 -b 8 --concurrency-range 4", "echo", 8)
	c.measure(t, "-u HTTP --shape IN:FP32:1,4 --input-tensor-format binary", "echo", 1)
	c.measure(t, "-u GRPC -i grpc --shape IN:INT32:-1,4 -b 3 --request-rate-range 300", "echo", 3)
	c.measure(t, "-u GRPC -i grpc --shape IN:FP16:-1,4 -b 2", "echo", 2)
	c.measure(t, "-u GRPC -i grpc --input-data data.json -b 2", "echo", 2)
	c.measure(t, "-u HTTP --input-data data.json", "echo", 1)

	c.says(t, 0, "redline inspect -u HTTP", "kserve 0.21.0, KServe v2 over HTTP", "1, all ready")
	c.says(t, 0, "redline inspect -u GRPC", "kserve 0.21.0, KServe v2 over gRPC", "the server does not list its models")
	c.says(t, 0, "redline inspect -u HTTP -m echo", "not stated by the server", "--shape NAME:DATATYPE:DIMENSIONS")
	c.scenarios(t)
	c.says(t, 0, "redline simple -m echo -u GRPC -i gRPC -s IN:FP32:-1,7 -c 40 -w 0 --no-history", "Throughput: ")
	c.says(t, 99, "redline profile -m nobody -u HTTP", "; the server has echo")
	c.says(t, 99, "redline profile -m echo -u GRPC -i grpc", "the server does not state the inputs of model \"echo\"")
	c.says(t, 99, "redline profile -m echo -u GRPC -i grpc --streaming --shape IN:FP32:-1,4 --request-count 4 --no-history", "leave --streaming out")
	c.says(t, 99, "redline profile -m echo -u HTTP --streaming --shape IN:FP32:-1,4 --request-count 4 --no-history", "leave --streaming out")
}

// scenarios checks the commands that send the traffic of profile.
func (c *client) scenarios(t *testing.T) {
	t.Helper()
	before := c.count("echo")
	c.says(t, 0, "redline run scenario.yaml --dry-run", "POST /v2/models/echo/infer HTTP/1.1", `"shape":[2,4],"data":[`, ":path: /inference.GRPCInferenceService/ModelInfer")
	if after := c.count("echo"); after != before {
		t.Errorf("a dry run sent requests: %+v, then %+v", before, after)
	}
	c.says(t, 0, "redline find profile -m echo -u GRPC -i grpc --shape IN:FP32:-1,4 --slo p50<10s --lowest 20 --highest 40 --first 20 --confirm 1s --probe-min 500ms --settle 100ms --no-history",
		"objectives: p50<10s")
}

// responses checks how many responses the requests of an export had.
func (c *client) responses(t *testing.T, file string, requests, each int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Experiments []struct {
			Requests []struct {
				Times []int64 `json:"response_timestamps"`
			} `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Experiments) != 1 || len(doc.Experiments[0].Requests) != requests {
		t.Fatalf("%s: %v", file, err)
	}
	for _, r := range doc.Experiments[0].Requests {
		if len(r.Times) != each {
			t.Errorf("%s: a request has %d responses, not %d", file, len(r.Times), each)
		}
	}
}
