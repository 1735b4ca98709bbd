package faults

import (
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit"
)

// TestNoServer runs every command over every wire against ports that are no servers. Each run ends with 99 and one reason.
func TestNoServer(t *testing.T) {
	t.Parallel()
	var tasks []pool.Task
	for _, c := range commands(t) {
		for _, w := range c.wires {
			for name, accept := range map[string]func(net.Conn){
				"refuses connections": nil,
				"closes connections":  func(c net.Conn) { _ = c.Close() },
				"resets connections":  drop,
				"another protocol": func(c net.Conn) {
					_, _ = io.WriteString(c, "220 mail.example.com ESMTP\r\n")
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
				},
				"accepts and is silent": func(c net.Conn) {
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
				},
			} {
				silent := name == "accepts and is silent"
				if silent && c.timeout == nil {
					continue
				}
				tasks = append(tasks, pool.Task{Name: c.name + "/" + w.name + "/" + name, Run: func(t *testing.T) {
					s := &front{t: t, addr: testkit.Port(t)}
					if accept != nil {
						s.addr = testkit.Accept(t, accept)
					}
					args := c.closedLoop(3)
					if silent {
						args = append(args, c.timeout...)
					}
					e := load(t, s, c, w, args...)
					if e.code != 99 || strings.TrimSpace(e.text) == "" {
						t.Errorf("exit code %d, want 99 and a reason:\n%s", e.code, e.text)
					}
					if e.succeeded() > 0 {
						t.Errorf("%d requests succeeded", e.succeeded())
					}
				}})
			}
		}
	}
	pool.Run(t, 2*workers, tasks) // they only wait
}

// TestInterruptWhileTheServerHangs: perf_analyzer has no limit on the time of a request, so the user must be able to end it.
func TestInterruptWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	perf := commands(t)[1]
	var tasks []pool.Task
	for _, w := range perf.wires {
		tasks = append(tasks, pool.Task{Name: w.name, Run: func(t *testing.T) {
			s := newFront(t, w, hanging())
			arrived := make(chan struct{})
			s.before = func(n int) {
				if n == 3 {
					close(arrived)
				}
			}
			cmd, out := start(t, s, w, slices.Concat(perf.args, w.args, perf.closedLoop(requests))...)
			<-arrived
			for range 2 {
				_ = cmd.Process.Signal(syscall.SIGINT)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 130 || panicked.MatchString(out.String()) {
				t.Errorf("exit code %d, want 130:\n%s", code, out)
			}
		}})
	}
	pool.Run(t, workers, tasks)
}
