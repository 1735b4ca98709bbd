// Package vllm loads a real vLLM, which runs on the CPU with a tiny model of random weights: what Redline reports must be what the server
// counted itself. That is part of `make test-heavy`. `make test` runs the same cases against responses of that vLLM, which TestRecord
// wrote into testdata/recorded.
package vllm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/tokenizer"
)

// Version is the version of vLLM that is installed.
const Version = "0.32.0"

// Model is the name of the model, and contextLength the most tokens of a prompt and its response.
const (
	Model         = "tiny"
	contextLength = 4096
)

// config is a Qwen2 model of two layers. Its weights are random, so it never ends a response by itself but by chance.
const config = `{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 8192, "vocab_size": 151936, "rms_norm_eps": 1e-06,
"rope_theta": 1000000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "hidden_act": "silu", "bos_token_id": 151643,
"eos_token_id": 151645, "use_cache": true}
`

// startLimit is how long a start may take: 45 s on an idle machine, minutes when Python compiles all of it for the first time.
const startLimit = 10 * time.Minute

// guarded runs a program whose whole process group is killed when standard input ends, with the program or with the process that started
// it: vLLM's processes outlive the first of them.
const guarded = `exec 3<&0; (cat <&3 >/dev/null; kill -KILL 0) & exec 3<&- "$@" </dev/null`

// Server is a running vLLM.
type Server struct {
	Addr    string // host:port
	LogFile string
	cmd     *exec.Cmd
	stdin   io.Closer
	exited  chan error
	ended   bool
}

// Install brings vLLM and the files of the tokenizer into the cache folder.
func Install(ctx context.Context) (dir string, err error) {
	if _, err := Tokenizer(ctx); err != nil {
		return "", err
	}
	return peers.Fill(ctx, "vllm-"+Version, "ready-vllm", "e2e/vllm/install.sh")
}

// Tokenizer is the folder of the model's tokenizer, with its chat template.
func Tokenizer(ctx context.Context) (string, error) {
	o, err := tokenizer.Install(ctx)
	if err != nil {
		return "", err
	}
	return o.Model("qwen2_5"), nil
}

// writeModel writes the model's folder. vLLM makes up the weights.
func writeModel(ctx context.Context, dir string) error {
	from, err := Tokenizer(ctx)
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644)
}

// Start starts the server on a port of this machine, with its model and its log in folder dir, and waits until it is ready. Stop ends it.
func Start(ctx context.Context, dir string, port int) (*Server, error) {
	env, err := Install(ctx)
	if err != nil {
		return nil, err
	}
	model := filepath.Join(dir, "model")
	if err := writeModel(ctx, model); err != nil {
		return nil, err
	}
	s := &Server{Addr: "127.0.0.1:" + strconv.Itoa(port), LogFile: filepath.Join(dir, "vllm.log"), exited: make(chan error, 1)}
	log, err := os.Create(s.LogFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), "bash", "-c", guarded, "vllm", filepath.Join(env, "bin", "vllm"), "serve", model,
		"--served-model-name", Model, "--load-format", "dummy", "--dtype", "bfloat16", "--max-model-len", strconv.Itoa(contextLength), "--max-num-seqs", "64",
		"--host", "127.0.0.1", "--port", strconv.Itoa(port), "--enforce-eager", "--enable-per-request-metrics")
	s.cmd.Env = append(os.Environ(), "VLLM_TARGET_DEVICE=cpu", "VLLM_USE_V2_MODEL_RUNNER=0", "VLLM_CPU_KVCACHE_SPACE=2", "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1",
		"VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "CUDA_VISIBLE_DEVICES=", "PATH="+filepath.Join(env, "bin")+":"+os.Getenv("PATH"))
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.exited <- s.cmd.Wait() }() // it closes standard input
	if err := s.await(ctx); err != nil {
		s.Kill()
		text, _ := os.ReadFile(s.LogFile)
		return nil, fmt.Errorf("%w\n%s", err, text[max(0, len(text)-4000):])
	}
	return s, nil
}

// await waits until the server is ready.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for peers.Status(ctx, "http://"+s.Addr+"/health") != http.StatusOK {
		select {
		case err := <-s.exited:
			s.ended = true
			return fmt.Errorf("vLLM ended before it was ready: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("vLLM was not ready after %s", startLimit)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// Kill ends the server at once, as a crash or the kernel would.
func (s *Server) Kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // none is left, if it has ended by itself
	if !s.ended {
		<-s.exited
		s.ended = true
	}
}

// Stop lets the server end by itself, and kills what is left of it.
func (s *Server) Stop() {
	if !s.ended {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-s.exited:
			s.ended = true
		case <-time.After(time.Minute):
		}
	}
	s.Kill()
}

// Counters are the server's own counts since its start. Times are sums in seconds.
type Counters struct {
	Prompt, Generated            float64 // tokens
	FirstTokens, FirstTokenTime  float64 // requests, time to first token
	LaterTokens, InterTokensTime float64 // tokens after the first, time between tokens
}

// Since are the counts after an earlier reading.
func (c Counters) Since(from Counters) Counters {
	return Counters{
		c.Prompt - from.Prompt, c.Generated - from.Generated, c.FirstTokens - from.FirstTokens, c.FirstTokenTime - from.FirstTokenTime,
		c.LaterTokens - from.LaterTokens, c.InterTokensTime - from.InterTokensTime,
	}
}

// fields are the places of vLLM's series.
func (c *Counters) fields() map[string]*float64 {
	return map[string]*float64{
		"vllm:prompt_tokens_total": &c.Prompt, "vllm:generation_tokens_total": &c.Generated,
		"vllm:time_to_first_token_seconds_count": &c.FirstTokens, "vllm:time_to_first_token_seconds_sum": &c.FirstTokenTime,
		"vllm:inter_token_latency_seconds_count": &c.LaterTokens, "vllm:inter_token_latency_seconds_sum": &c.InterTokensTime,
	}
}

// Counters reads the server's counts. It waits until no request is in work, because the server counts the last tokens of a request after it
// has sent them.
func (s *Server) Counters(ctx context.Context) (Counters, error) {
	for {
		page, err := s.get(ctx, "/metrics")
		if err != nil {
			return Counters{}, err
		}
		var c Counters
		if running := c.read(page); running == 0 {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return Counters{}, errors.New("the requests of vLLM do not end")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// read adds up the series of a page of metrics; running is the number of requests in work.
func (c *Counters) read(page []byte) (running float64) {
	fields := c.fields()
	fields["vllm:num_requests_running"], fields["vllm:num_requests_waiting"] = &running, &running
	lines := bufio.NewScanner(bytes.NewReader(page))
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), "} ")
		name, _, _ := strings.Cut(series, "{")
		if to, n, err := fields[name], 0.0, error(nil); to != nil {
			if n, err = strconv.ParseFloat(value, 64); err == nil {
				*to += n
			}
		}
	}
	return running
}

func (s *Server) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
