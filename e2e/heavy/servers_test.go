package heavy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// servers are the addresses that a case may name.
type servers map[string]string

// args makes the arguments of a run whose files go to the folder out.
func (s servers) args(command, text, out string) []string {
	own, passed, pass := strings.Cut(text, " -- ")
	args := append([]string{command}, strings.Fields(own)...)
	for i, a := range args {
		if name, ok := strings.CutPrefix(a, "$"); ok {
			args[i] = s[name]
		}
	}
	args = append(args, "--tokenizer", "tokenizer", "--artifact-dir", out)
	if pass {
		args = append(append(args, "--"), strings.Fields(passed)...)
	}
	return args
}

// genAIPerf installs GenAI-Perf and starts all that its cases load: the real Triton in `make test-heavy` alone. The folder
// holds their input files.
func genAIPerf(t *testing.T) (*program, string, servers) {
	t.Helper()
	gap := install(t, "genai-perf", peers.GenAIPerf)
	var at ports
	if outcome.Heavy() {
		server, _ := newTriton(t)
		at = server.start(t, "trtllm", "vllm")
	}
	dir := t.TempDir()
	free, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	bin := binary.Built(t)
	ref, err := binary.StartServer(dir, bin, "--openai-port", fmt.Sprint(free[0]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ref.Stop)
	mock := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(mock.Close)
	tokenizer(t, filepath.Join(dir, "tokenizer"))
	inputs(t, dir)
	return gap, dir, servers{
		"SERVE_HTTP": ref.HTTP, "SERVE_GRPC": ref.GRPC, "OPENAI": fmt.Sprint("127.0.0.1:", free[0]),
		"TRITON_GRPC": fmt.Sprint("127.0.0.1:", at.grpc), "MOCK": strings.TrimPrefix(mock.URL, "http://"),
	}
}

// inputs writes the files that cases name.
func inputs(t *testing.T, dir string) {
	t.Helper()
	// One message of four bytes of length and {name: "simple"}; GenAI-Perf runs the command that the line holds.
	write(t, filepath.Join(dir, "message.bin"), "\x08\x00\x00\x00\x0a\x06simple")
	write(t, filepath.Join(dir, "messages.jsonl"), `{"text":"cat `+filepath.Join(dir, "message.bin")+"\"}\n")
	write(t, filepath.Join(dir, "plain.jsonl"), `{"text_input":"the first question","output_length":4}
{"text_input":"the second question","output_length":4}
`)
	write(t, filepath.Join(dir, "schedule.jsonl"), `{"timestamp":0,"text_input":"the first question","output_length":4}
{"timestamp":100,"text_input":"the second question","output_length":4}
{"timestamp":250,"input_length":12,"output_length":4}
`)
	write(t, filepath.Join(dir, "sessions.jsonl"), `{"session_id":"a","delay":50,"text_input":"the first question","output_length":4}
{"session_id":"a","text_input":"the second question","output_length":4}
{"session_id":"b","delay":30,"text_input":"another question","output_length":4}
{"session_id":"b","text_input":"and one more","output_length":4}
`)
}

// answer is a server of the interfaces that the reference server does not have: NVIDIA's ranking, the rerank of
// Hugging Face's text embeddings, and generate at the root, as its text generation has it.
func answer(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Passages []any  `json:"passages"`
		Texts    []any  `json:"texts"`
		Inputs   string `json:"inputs"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	scores := func(list []any, key string) []map[string]any {
		out := []map[string]any{}
		for i := range list {
			out = append(out, map[string]any{"index": i, key: 1.0 / float64(i+1)})
		}
		return out
	}
	var out any
	switch {
	case r.URL.Path == "/v1/ranking" && len(in.Passages) > 0:
		out = map[string]any{"rankings": scores(in.Passages, "logit")}
	case r.URL.Path == "/rerank" && len(in.Texts) > 0:
		out = scores(in.Texts, "score")
	case r.URL.Path == "/" && in.Inputs != "":
		out = []map[string]any{{"generated_text": "one two three"}}
	default:
		http.Error(w, "no such thing: "+r.URL.Path, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}
