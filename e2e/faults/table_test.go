package faults

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/result"
)

// workers is how many runs there are at once: they mostly wait.
const workers = 6

// fault is what a server does instead of a valid response.
type fault struct {
	name string
	// always: to every inference; once: to the third one. Otherwise to every third one.
	always, once bool
	// tries is how often the client sends a request that meets the fault every time; 0 stands for 1.
	tries int
	// http1 acts on a connection; false: the connection is over. http2 acts on a stream. nil: there is no such fault.
	http1 func(c net.Conn, r *reply) bool
	http2 func(st *stream)
	// applies reports whether the fault exists for a protocol; nil: for all with a function above.
	applies func(w wire) bool
	class   string // of the failed requests; empty: the request is sent again and none fails
	status  string // gRPC's, which llm has in the name of the class
	text    string // that every failure has
}

const timeout = "timeout"

// hits reports whether the n-th inference, from 1, meets the fault.
func (f fault) hits(n int) bool { return f.name != "" && (f.always || n == 3 || n%3 == 0 && !f.once) }

func (f fault) over(w wire) bool {
	if f.applies != nil && !f.applies(w) {
		return false
	}
	return w.http2() && f.http2 != nil || !w.http2() && f.http1 != nil
}

// TestFaults runs every command over every wire against every fault. Without a crash or a hang, the report must say what
// the server did: each fault is one failed request of its class, and nothing else failed.
func TestFaults(t *testing.T) {
	t.Parallel()
	var tasks []pool.Task
	for _, c := range commands(t) {
		for _, w := range c.wires {
			for _, f := range faults() {
				if !f.over(w) || f.class == timeout && c.timeout == nil {
					continue
				}
				tasks = append(tasks, pool.Task{Name: c.name + "/" + w.name + "/" + f.name, Run: func(t *testing.T) {
					s := newFront(t, w, f)
					args := c.closedLoop(requests)
					if f.class == timeout {
						args = append(args, c.timeout...)
					}
					f.judge(t, s, c, load(t, s, c, w, args...))
				}})
			}
		}
	}
	pool.Run(t, workers, tasks)
}

// judge compares a run with what the server did.
func (f fault) judge(t *testing.T, s *front, c command, e ended) {
	t.Helper()
	asked, faults := s.counts()
	failed := faults / max(1, f.tries)
	if faults == 0 {
		t.Fatalf("the server was asked %d times and did nothing wrong:\n%s", asked, e.text)
	}
	if f.class == "" {
		if e.code != 0 || c.report() && e.succeeded() != requests {
			t.Errorf("exit code %d with %d requests, want 0 and %d:\n%s", e.code, e.succeeded(), requests, e.text)
		}
		return
	}
	if !c.report() {
		if said := "Thread [0] had error"; e.code != 99 || !strings.Contains(e.text, said) {
			t.Errorf("exit code %d, want 99 and %q:\n%s", e.code, said, e.text)
		}
		return
	}
	if e.code != 99 || !strings.Contains(e.text, f.text) {
		t.Errorf("exit code %d, want 99 and %q:\n%s", e.code, f.text, e.text)
	}
	byClass, texts := e.failures()
	class := f.class
	if f.status != "" && c.name == "llm" {
		class += " " + f.status
	}
	if diff := cmp.Diff(map[string]int{class: failed}, byClass); diff != "" {
		t.Errorf("failures (- the server's, + the report's):\n%s\n%s", diff, texts)
	}
	if got := e.succeeded(); got != requests-failed {
		t.Errorf("%d requests succeeded, want %d", got, requests-failed)
	}
	if e.Verdict.State != result.ServerFailed || !strings.Contains(texts, f.text) {
		t.Errorf("verdict %q with %q, want %q with %q", e.Verdict.State, texts, result.ServerFailed, f.text)
	}
}
