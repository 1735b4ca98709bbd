package faults

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

const (
	// inNamespace is set in the process that has a network and a name server of its own.
	inNamespace = "REDLINE_FAULTS_NAMESPACE"
	hostName    = "server.test"
)

// TestNamesFailInMidRun: the server closes the connection after each response, so each request looks its name up. From the
// ninth request on the name server refuses, and after six refusals it answers again. The test runs itself once more in
// namespaces of its own, where the name server may have port 53 and /etc/resolv.conf names it.
func TestNamesFailInMidRun(t *testing.T) {
	t.Parallel()
	if os.Getenv(inNamespace) == "" {
		namespace(t)
		return
	}
	var tasks []pool.Task
	for _, c := range commands(t) {
		for _, w := range c.wires {
			f := leaves()
			if w.cert != nil || !f.over(w) {
				continue // certificates are for localhost
			}
			tasks = append(tasks, pool.Task{Name: c.name + "/" + w.name, Needs: []string{"port 53"}, Run: func(t *testing.T) { c.lookup(t, w, f) }})
		}
	}
	pool.Run(t, 1, tasks)
}

// namespace runs this test in a user, network and mount namespace.
func namespace(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"resolv.conf": "nameserver 127.0.0.1\noptions timeout:5 attempts:1\n", "hosts": "127.0.0.1 localhost\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const setup = `ip link set lo up && mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$1/hosts" /etc/hosts || exit 77; shift; exec "$@"`
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--net", "--mount", "--", "sh", "-c", setup, "sh", dir, self, "-test.run", "^TestNamesFailInMidRun$", "-test.count", "1")
	cmd.Env = append(os.Environ(), inNamespace+"=1", "REDLINE_BIN_DIR="+bin)
	out, err := cmd.CombinedOutput()
	const noNamespace, noNetwork = 1, 77
	switch code := cmd.ProcessState.ExitCode(); {
	case errors.Is(err, exec.ErrNotFound), code == noNetwork, code == noNamespace && strings.HasPrefix(string(out), "unshare:"):
		outcome.NotTested(t, "names that fail in mid-run", errors.New(string(out)), "unshare, ip and mount, with user namespaces allowed")
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
}

// lookup loads a server whose name cannot be looked up for a while.
func (c command) lookup(t *testing.T, w wire, f fault) {
	t.Helper()
	const answered, refusals = 8, 6
	names := startNames(t)
	s := newFront(t, w, f)
	s.name = hostName
	s.before = func(n int) {
		if n == answered {
			names.refuse.Store(refusals)
		}
	}
	e := load(t, s, c, w, c.closedLoop(requests)...)
	if e.code != 99 {
		t.Fatalf("exit code %d, want 99:\n%s", e.code, e.text)
	}
	if !c.report() {
		return
	}
	byClass, texts := e.failures()
	asked, _ := s.counts()
	if byClass["connect"] == 0 || len(byClass) != 1 || e.succeeded() != asked || e.succeeded()+byClass["connect"] != requests || asked <= answered {
		t.Errorf("%d arrived, %d succeeded, failures %v:\n%s\n%s", asked, e.succeeded(), byClass, texts, e.text)
	}
	if !strings.Contains(texts, hostName) || e.Verdict.State != result.ServerFailed {
		t.Errorf("verdict %q with %q", e.Verdict.State, texts)
	}
}

// names is a name server for hostName.
type names struct{ refuse atomic.Int64 } // questions for an address that are refused from now on

func startNames(t *testing.T) *names {
	t.Helper()
	pc, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	s := &names{}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = pc.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			reply, err := s.answer(m)
			if err == nil {
				_, _ = pc.WriteTo(reply, from)
			}
		}
	}()
	return s
}

// answer makes the reply to a question: the address, nothing for other types, or a failure.
func (s *names) answer(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	m.Response, m.Additionals = true, nil
	switch {
	case q.Type == dnsmessage.TypeA && s.refuse.Load() > 0:
		s.refuse.Add(-1)
		m.RCode = dnsmessage.RCodeServerFailure
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
		}}
	}
	return m.Pack()
}
