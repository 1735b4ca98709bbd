// Package openai_test loads real OpenAI-compatible servers: llama.cpp's own, from PyPI, with a tiny model of random
// weights that is made here. It needs Python 3 with venv.
package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/death"
	"github.com/redline-bench/redline/e2e/guide"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// rig is a server with the program that loads it.
type rig struct {
	bin, dir string
	server   *peers.Llama
}

func start(t *testing.T) *rig {
	t.Helper()
	r := &rig{bin: binary.Built(t), dir: t.TempDir()}
	_, err := peers.InstallLlama(t.Context())
	if err != nil {
		outcome.NotTested(t, "llama.cpp's server", err, "python3 with venv")
	}
	if r.server, err = peers.StartLlama(t.Context(), r.dir, 4, 512); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.server.Stop)
	return r
}

// run runs redline profile or perf_analyzer; it returns the output and the exit code.
func (r *rig) run(t *testing.T, program string, args ...string) (out string, code int) {
	t.Helper()
	name, first := "perf_analyzer", []string{}
	if program == "redline" {
		name, first = "redline", []string{"profile"}
	}
	first = append(first, "-m", "tiny", "--service-kind", "openai", "-u", r.server.Addr)
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.bin, name), append(first, args...)...)
	cmd.Dir = r.dir
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

func (r *rig) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	chat       = "v1/chat/completions"
	completion = "v1/completions"
	prompts    = `"messages":[{"role":"user","content":"Who wrote the play?"}]`
	prompt     = `"prompt":"Who wrote the play?"`
)

// The counts that Redline reports and exports are those that the server counted itself.
func TestLlama(t *testing.T) {
	r := start(t)
	for _, tc := range []struct {
		name, endpoint, payload string
		streams                 bool
	}{
		{"chat", chat, `{"model":"tiny","max_tokens":12,` + prompts + `}`, false},
		{"chat, streamed", chat, `{"model":"tiny","max_tokens":12,"stream":true,"stream_options":{"include_usage":true},` + prompts + `}`, true},
		{"completions", completion, `{"model":"tiny","max_tokens":9,` + prompt + `}`, false},
		{"completions, streamed", completion, `{"model":"tiny","max_tokens":9,"stream":true,` + prompt + `}`, true},
	} {
		data := r.write(t, "data.json", `{"data":[{"payload":[`+tc.payload+`]}]}`)
		for _, program := range []string{"perf_analyzer", "redline"} {
			for _, load := range [][]string{{"--concurrency-range", "4"}, {"--request-rate-range", "40"}} {
				t.Run(tc.name+" by "+program+" "+load[0], func(t *testing.T) {
					before, err := r.server.Predicted(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					export := filepath.Join(t.TempDir(), "export.json")
					out, code := r.run(t, program, append(load, "--async", "--endpoint", tc.endpoint, "--input-data", data,
						"--request-count", "40", "--profile-export-file", export)...)
					if code != 0 || !strings.Contains(out, "Request count: 40") {
						t.Fatalf("ended with %d\n%s", code, out)
					}
					want := usage(t, export, tc.streams)
					n, err := r.server.Predicted(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					// What was sent after the last counted request is not in the export.
					if got := n - before; got < want || got > want+4*12 {
						t.Errorf("the server made %d tokens, the export says %d", got, want)
					}
				})
			}
		}
	}
}

// usage adds up the tokens that the exported responses speak of. In a stream they are as many as the responses with text.
func usage(t *testing.T, path string, streams bool) (total int) {
	t.Helper()
	for i, req := range requests(t, path) {
		tokens, texts := 0, 0
		for _, out := range req.Outputs {
			for line := range strings.Lines(out.Response) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "data: ")
				if line == "" || line == "[DONE]" {
					continue
				}
				var answer struct {
					Usage struct {
						Completion int `json:"completion_tokens"`
					} `json:"usage"`
					Choices []struct {
						Text  string `json:"text"`
						Delta struct {
							Content string `json:"content"`
						} `json:"delta"`
					} `json:"choices"`
				}
				if err := json.Unmarshal([]byte(line), &answer); err != nil {
					t.Fatalf("%v in %q", err, line)
				}
				tokens += answer.Usage.Completion
				for _, c := range answer.Choices {
					if c.Text+c.Delta.Content != "" {
						texts++
					}
				}
			}
		}
		if len(req.Times) != len(req.Outputs) || tokens == 0 || streams && texts != tokens {
			t.Errorf("request %d: %d times, %d responses, %d of them with text, %d tokens", i, len(req.Times), len(req.Outputs), texts, tokens)
		}
		total += tokens
	}
	return total
}

type request struct {
	Times   []int64 `json:"response_timestamps"`
	Outputs []struct {
		Response string `json:"response"`
	} `json:"response_outputs"`
}

func requests(t *testing.T, path string) []request {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Kind        string `json:"service_kind"`
		Experiments []struct {
			Requests []request `json:"requests"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || doc.Kind != "openai" || len(doc.Experiments) != 1 {
		t.Fatalf("export: %v, %.300s", err, text)
	}
	return doc.Experiments[0].Requests
}

func TestLlamaSaysNo(t *testing.T) {
	r := start(t)
	data := r.write(t, "data.json", `{"data":[{"payload":[{"model":"tiny","max_tokens":4,`+prompts+`}]}]}`)
	bad := r.write(t, "bad.json", `{"data":[{"payload":[{"model":"tiny","messages":"none"}]}]}`)
	for name, tc := range map[string]struct{ endpoint, data, status string }{
		"wrong endpoint": {"v1/nothing", data, "404"},
		"bad request":    {chat, bad, "4"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, program := range []string{"perf_analyzer", "redline"} {
				out, code := r.run(t, program, "--async", "--endpoint", tc.endpoint, "--input-data", tc.data, "--request-count", "5")
				if want := "answered with HTTP " + tc.status; code == 0 || !strings.Contains(out, want) {
					t.Errorf("%s ended with %d, want %q in\n%s", program, code, want, out)
				}
			}
		})
	}
	t.Run("down", func(t *testing.T) {
		r.server.Kill()
		for _, program := range []string{"perf_analyzer", "redline"} {
			out, code := r.run(t, program, "--async", "--endpoint", chat, "--input-data", data, "--request-count", "5")
			if code == 0 || !strings.Contains(strings.ToLower(out), "connect") {
				t.Errorf("%s ended with %d\n%s", program, code, out)
			}
		}
	})
}

func TestLlamaDies(t *testing.T) {
	r := start(t)
	r.server.Stop()
	r.write(t, "long.json", `{"data":[{"payload":[{"model":"tiny","max_tokens":40,"stream":true,`+prompts+`}]}]}`)
	death.Check(t, &death.Case{
		Bin: r.bin, Dir: r.dir, Start: func(t *testing.T) (string, func()) {
			t.Helper()
			server, err := peers.StartLlama(t.Context(), t.TempDir(), 4, 512)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			return server.Addr, server.Kill
		},
		Args: []string{"-m", "tiny", "--service-kind", "openai", "--async", "--endpoint", chat, "--input-data", "long.json"},
	})
}

// The command of perf_analyzer's guide, with the input that it prints.
func TestGuide(t *testing.T) {
	r := start(t)
	r.write(t, "input_data.json", `{
  "data": [
    {
      "payload": [
        {
          "model": "facebook/opt-125m",
          "messages": [
            {"role": "user", "content": "Who wrote the play Romeo and Juliet?"}
          ],
          "max_tokens": 128
        }
      ]
    }
  ]
}`)
	guide.Check(t, &guide.Command{
		Program: filepath.Join(r.bin, "perf_analyzer"), Dir: r.dir,
		Args: []string{
			"-m", "facebook/opt-125m", "--service-kind=openai", "--endpoint=v1/chat/completions", "--async",
			"--input-data=input_data.json", "-u", r.server.Addr,
		},
		Shows: `
 Successfully read data for # stream/streams with # step/steps.
*** Measurement Settings ***
  Service Kind: OPENAI
  Using "time_windows" mode for stabilization
  Stabilizing using average throughput
  Measurement window: # msec
  Using asynchronous calls for inference
` + guide.Level + `    Avg HTTP time: # usec (send/recv # usec + response wait # usec)
` + guide.Summary,
	})
}
