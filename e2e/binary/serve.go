package binary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a running `redline serve`.
type Server struct {
	HTTP, GRPC, Metrics string // host:port
	// Ports has the addresses of all protocols by the names of the ready line.
	Ports  map[string]string
	Stderr Buffer
	cmd    *exec.Cmd
}

// Serve starts a reference server in folder dir on free ports and waits until it listens. The command ends in
// "serve" and perhaps options of it.
func Serve(dir string, command ...string) (*Server, error) {
	s := &Server{}
	args := slices.Concat(command[1:], []string{"--http-port", "0", "--grpc-port", "0", "--metrics-port", "0"})
	s.cmd = exec.Command(command[0], args...)
	s.cmd.Dir, s.cmd.Stderr = dir, &s.Stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	var ports map[string]json.Number
	text, ok := strings.CutPrefix(line, "ready ")
	if err == nil && ok {
		err = json.Unmarshal([]byte(text), &ports)
	}
	if err != nil || !ok {
		s.Stop()
		return nil, fmt.Errorf("%s did not get ready: %q %w\n%s", strings.Join(command, " "), line, err, s.Stderr.String())
	}
	go io.Copy(io.Discard, lines)
	s.Ports = map[string]string{}
	for name, port := range ports {
		s.Ports[name] = "127.0.0.1:" + port.String()
	}
	s.HTTP, s.GRPC, s.Metrics = s.Ports["http"], s.Ports["grpc"], s.Ports["metrics"]
	return s, nil
}

// StartServer is Serve for the program of folder bin, with options of `redline serve`.
func StartServer(dir, bin string, options ...string) (*Server, error) {
	return Serve(dir, append([]string{filepath.Join(bin, "redline"), "serve"}, options...)...)
}

// Served is a server of StartServer that runs until the end of the test.
func Served(t testing.TB, bin string, options ...string) *Server {
	t.Helper()
	s, err := StartServer(t.TempDir(), bin, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Address is the server's address for a protocol, http or grpc.
func (s *Server) Address(protocol string) string {
	if protocol == "grpc" {
		return s.GRPC
	}
	return s.HTTP
}

// Stop ends the server, gently first.
func (s *Server) Stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(time.Minute, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	timer.Stop()
}

// Buffer is a bytes.Buffer that can be read while a process writes to it.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Pid is the number of the server's process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
