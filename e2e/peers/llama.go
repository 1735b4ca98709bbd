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
	timer := time.AfterFunc(2*time.Minute, func() { l.cmd.Process.Kill() })
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

// Predicted is how many tokens the server says that it has made so far.
func (l *Llama) Predicted(ctx context.Context) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "llamacpp:tokens_predicted_total "); ok {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("the metrics of llama.cpp's server have no count of tokens: %w", lines.Err())
}

// Kill ends the server at once, as a crash would.
func (l *Llama) Kill() {
	l.cmd.Process.Kill()
	l.cmd.Wait()
}

// Stop ends the server.
func (l *Llama) Stop() {
	l.stdin.Close()
	timer := time.AfterFunc(5*time.Second, func() { l.cmd.Process.Kill() })
	l.cmd.Wait()
	timer.Stop()
}
