package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// server is the canned server: redline serve --null on a core of its own.
type server struct {
	cmd        *exec.Cmd
	http, grpc string
}

// pinned puts a command on one core, where the machine has more than one: the client on 0, the server on 1.
func pinned(core int, name string, args ...string) []string {
	if _, err := exec.LookPath("taskset"); err != nil || runtime.NumCPU() < 2 {
		return append([]string{name}, args...)
	}
	return append([]string{"taskset", "-c", fmt.Sprint(core), name}, args...)
}

func startNull(bin string) (*server, error) {
	argv := pinned(1, bin, "serve", "--null", "--http-port", "0", "--grpc-port", "0", "--metrics-port", "0")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	lines := bufio.NewReader(stdout)
	line, err := lines.ReadString('\n')
	var ports map[string]json.Number
	text, ok := strings.CutPrefix(line, "ready ")
	if err == nil && ok {
		err = json.Unmarshal([]byte(text), &ports)
	}
	if err != nil || !ok {
		s.stop()
		return nil, fmt.Errorf("start the null server: %q %w", line, err)
	}
	go io.Copy(io.Discard, lines)
	s.http, s.grpc = "127.0.0.1:"+ports["http"].String(), "127.0.0.1:"+ports["grpc"].String()
	return s, nil
}

func (s *server) stop() {
	s.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(5*time.Second, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	timer.Stop()
}

func (s *server) address(protocol string) string {
	if protocol == "grpc" {
		return s.grpc
	}
	return s.http
}
