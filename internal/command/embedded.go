package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/plan"
)

// embeddedStart limits how long the embedded server may take until it listens.
const embeddedStart = 20 * time.Second

// Embedded is the reference server as a child process of the same binary. Its standard input is a pipe from this process;
// the child ends when the pipe closes, so it cannot outlive this process.
type Embedded struct {
	cmd   *exec.Cmd
	pipe  io.Closer
	ports map[string]json.RawMessage
}

// StartEmbedded starts the server on free ports, with extra options of `redline serve`, and waits until it listens.
func StartEmbedded(ctx context.Context, p *IO, extra []string) (*Embedded, error) {
	exe, err := p.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start the embedded server: %w", err)
	}
	args := append([]string{"serve", "--exit-with-parent", "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"}, extra...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), exe, args...) // Stop ends it
	// The child must not run in perf_analyzer mode, and must not receive the terminal's interrupt.
	cmd.Args[0] = "redline"
	cmd.SysProcAttr = detached()
	cmd.Stderr = p.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	e := &Embedded{cmd: cmd, pipe: stdin}
	if err := e.awaitReady(ctx, stdout); err != nil {
		e.Stop()
		return nil, err
	}
	return e, nil
}

// awaitReady reads the line that the server prints when it listens on all ports.
func (e *Embedded) awaitReady(ctx context.Context, stdout io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, embeddedStart)
	defer cancel()
	ready := make(chan error, 1)
	go func() {
		scan := bufio.NewScanner(stdout)
		for scan.Scan() {
			if text, ok := strings.CutPrefix(scan.Text(), "ready "); ok {
				ready <- json.Unmarshal([]byte(text), &e.ports)
				_, _ = io.Copy(io.Discard, stdout) // keep the pipe open and empty
				return
			}
		}
		ready <- fmt.Errorf("the embedded server ended before it was ready")
	}()
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the embedded server was not ready in time: %w", ctx.Err())
	}
}

// Address returns the address on which the server listens for a protocol.
func (e *Embedded) Address(proto plan.Protocol) string {
	return "127.0.0.1:" + strings.Trim(string(e.ports[string(proto)]), `"`)
}

// Stop ends the child and waits for it. A second call does nothing, and a nil server has no child.
func (e *Embedded) Stop() {
	if e == nil || e.cmd.ProcessState != nil {
		return
	}
	_ = e.pipe.Close()
	done := make(chan struct{})
	go func() {
		_ = e.cmd.Wait() // the exit code does not matter
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Second):
		_ = e.cmd.Process.Signal(os.Kill)
		<-done
	}
}

// CPU is the CPU time that the child used, after Stop.
func (e *Embedded) CPU() time.Duration {
	if e.cmd.ProcessState == nil {
		return 0
	}
	return e.cmd.ProcessState.UserTime() + e.cmd.ProcessState.SystemTime()
}
