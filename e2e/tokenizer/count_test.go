package tokenizer

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// counting is a server that counts the tokens of requests with the package `transformers`.
type counting struct {
	url string
	log *json.Decoder // its port, then the id and tokens of each request
}

func (o *Oracle) serve(t *testing.T, model string) *counting {
	t.Helper()
	cmd := o.command(t.Context(), "serve", o.Model(model))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var message strings.Builder
	cmd.Stderr = &message
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it was killed
	})
	s := &counting{log: json.NewDecoder(out)}
	var port int
	if err := s.log.Decode(&port); err != nil {
		t.Fatalf("%v: %s", err, message.String())
	}
	s.url = fmt.Sprint("127.0.0.1:", port)
	return s
}

// counted are the tokens of the next n requests by their ids.
func (s *counting) counted(t *testing.T, n int) map[string]int {
	t.Helper()
	tokens := map[string]int{}
	for range n {
		var id string
		var count int
		if err := s.log.Decode(&[]any{&id, &count}); err != nil {
			t.Fatal(err)
		}
		tokens[id] = count
	}
	return tokens
}

// The input tokens that redline llm --apply-chat-template reports of each request are those that the server counts, and made
// prompts have the length that was requested.
func TestInputTokensAreTheServers(t *testing.T) {
	o := install(t)
	bin := binary.Built(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"single.jsonl": `{"text":"Hi"}` + "\n" + `{"text":"  two\n\nlines, naïve 日本語 👍🏽 12345  "}` + "\n" + `{"text":"func main() { fmt.Println(\"<s> it's\") }\n"}`,
		"turns.jsonl": `{"session_id":"a","turns":[{"text":"Hi"},{"text":"and\n then?"},{"text":"Danke schön"}]}` + "\n" +
			`{"session_id":"b","turns":[{"text":"What is 6 x 7?"},{"text":"Why?"}]}`,
		"tools.jsonl": `{"messages":[{"role":"user","content":"weather?"}],"tools":[{"type":"function","function":{"name":"weather","description":"of \"now\"",` +
			`"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, model := range []string{"llama3", "qwen3", "gemma3", "deepseek_v3", "mistral_nemo"} {
		t.Run(model, func(t *testing.T) {
			if model == "deepseek_v3" || model == "mistral_nemo" {
				outcome.HeavyOnly(t, "input tokens of two more models; TestSameIDs and TestSameTemplates have them")
			}
			s := o.serve(t, model)
			f := func(requests int, isl float64, args ...string) {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append([]string{
					"llm", "-m", "m", "-u", s.url, "--tokenizer", o.Model(model), "--apply-chat-template", "--concurrency", "2", "--artifact-dir", "out", "--exports", "records",
				}, args...)...)
				cmd.Dir = dir
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", args, err, text)
				}
				text, err := os.ReadFile(filepath.Join(dir, "out", "profile_export.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				records := read[struct {
					Metadata struct {
						ID string `json:"x_request_id"`
					} `json:"metadata"`
					Metrics struct {
						Input struct{ Value float64 } `json:"input_sequence_length"`
					} `json:"metrics"`
				}](t, text)
				if len(records) != requests {
					t.Errorf("%v: %d requests, not %d", args, len(records), requests)
				}
				tokens := s.counted(t, len(records))
				for _, r := range records {
					got, want := r.Metrics.Input.Value, float64(tokens[r.Metadata.ID])
					if got != want || isl > 0 && got != isl {
						t.Errorf("%v: %g input tokens, the server counts %g", args, got, want)
					}
				}
			}
			f(3, 0, "--input-file", "single.jsonl")
			f(5, 0, "--input-file", "turns.jsonl", "--system-prompt", "Answer briefly.")
			f(12, 100, "--isl", "100", "--request-count", "12")
			f(8, 0, "--isl", "60", "--isl-stddev", "10", "--conversation-turn-mean", "2", "--system-prompt", "Answer briefly.", "--request-count", "8")
			f(12, 100, "--endpoint-type", "completions", "--isl", "100", "--request-count", "12")
			f(5, 0, "--endpoint-type", "completions", "--input-file", "turns.jsonl", "--system-prompt", "Answer briefly.")
			if model == "qwen3" {
				f(1, 0, "--input-file", "tools.jsonl")
				f(12, 100, "--isl", "100", "--request-count", "12", "--extra-inputs", `{"chat_template_kwargs":{"enable_thinking":false}}`)
			}
		})
	}
}
