package peers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// llamaPackage carries llama.cpp with its server, ready to run.
const llamaPackage = "xllamacpp==2026.10.11549"

// Llama is a running server of llama.cpp with the tiny model of WriteLlama under the name "tiny".
type Llama struct {
	Addr    string // host:port
	LogFile string
	cmd     *exec.Cmd
	stdin   io.Closer
}

// StartLlama starts the server on a free loopback port, with its model and log in folder dir, and waits until it is
// ready. parallel is how many requests it works on at once, each with up to the given number of tokens. Stop ends it; it also
// ends with this process.
func StartLlama(ctx context.Context, dir string, parallel, tokens int) (*Llama, error) {
	env, err := InstallLlama(ctx)
	if err != nil {
		return nil, err
	}
	model := filepath.Join(dir, "tiny.gguf")
	if err := WriteLlama(model); err != nil {
		return nil, err
	}
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	l := &Llama{Addr: "127.0.0.1:" + strconv.Itoa(ports[0]), LogFile: filepath.Join(dir, "llama.log")}
	log, err := os.Create(l.LogFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	script := filepath.Join(binary.Root(), "e2e", "peers", "llama.py")
	l.cmd = exec.CommandContext(ctx, filepath.Join(env, "bin", "python"), script, model,
		strconv.Itoa(ports[0]), strconv.Itoa(parallel), strconv.Itoa(tokens))
	l.cmd.Stderr = log
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(testkit.Limit, func() { l.cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "ready ") {
			go io.Copy(io.Discard, stdout)
			return l, nil
		}
	}
	l.Stop()
	text, _ := os.ReadFile(l.LogFile)
	return nil, fmt.Errorf("llama.cpp's server did not get ready\n%s", tail(string(text), 30))
}

// Predicted is how many tokens the server says that it has made so far. It waits until no request is in work: the server
// counts the tokens of a request when the request has ended for it, which may be after it has for the client.
func (l *Llama) Predicted(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, testkit.Limit)
	defer cancel()
	for {
		m, err := l.metrics(ctx)
		if err != nil {
			return 0, err
		}
		if m["requests_processing"] == 0 && m["requests_deferred"] == 0 {
			return int(m["tokens_predicted_total"]), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("requests of llama.cpp's server do not end: %v", m)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// metrics reads those of the server, by their names without the first part.
func (l *Llama) metrics(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "llamacpp:"), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			all[name] = value
		}
	}
	for _, name := range []string{"requests_processing", "requests_deferred", "tokens_predicted_total"} {
		if _, ok := all[name]; !ok {
			return nil, fmt.Errorf("the metrics of llama.cpp's server have no %s: %w", name, lines.Err())
		}
	}
	return all, nil
}

// Kill ends the server at once, as a crash would.
func (l *Llama) Kill() {
	l.cmd.Process.Kill()
	l.cmd.Wait()
}

// Stop ends the server.
func (l *Llama) Stop() {
	l.stdin.Close()
	timer := time.AfterFunc(time.Minute, func() { l.cmd.Process.Kill() })
	l.cmd.Wait()
	timer.Stop()
}
