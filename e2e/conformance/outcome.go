package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Outcome is what a run left behind.
type Outcome struct {
	Code   int               `json:"code"`
	Stdout string            `json:"stdout"`
	Stderr string            `json:"stderr"`
	Files  map[string]string `json:"files,omitempty"` // only those that were written
	// Requests are what reached the server, normalized; only where that was watched.
	Requests []string `json:"requests,omitempty"`
}

// hung is the exit code given to a run that had to be killed.
const hung = 124

// Run executes the case with a binary in an empty folder.
func Run(ctx context.Context, bin string, c *Case, fill *strings.Replacer, limit time.Duration) (*Outcome, error) {
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = fill.Replace(a)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	out := &Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String(), Files: map[string]string{}}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.Code = 128 + int(ws.Signal())
	}
	if ctx.Err() != nil {
		out.Code = hung
	}
	for _, name := range c.Files {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			out.Files[name] = string(data)
		}
	}
	return out, nil
}

// Store keeps outcomes of the real perf_analyzer between test runs on one machine: they cost more than half of
// the time. A key covers everything that an outcome depends on.
type Store struct {
	Dir  string
	Seed string // versions, models and data
}

func (s Store) path(c *Case) string {
	sum := sha256.Sum256([]byte(s.Seed + "\n" + c.Text()))
	return filepath.Join(s.Dir, c.Name+"-"+hex.EncodeToString(sum[:8])+".json")
}

// Load returns a kept outcome, or nil.
func (s Store) Load(c *Case) *Outcome {
	data, err := os.ReadFile(s.path(c))
	if err != nil {
		return nil
	}
	var o Outcome
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return &o
}

// Save keeps an outcome.
func (s Store) Save(c *Case, o *Outcome) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.path(c), data, 0o644)
}
