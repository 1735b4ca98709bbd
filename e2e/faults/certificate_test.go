package faults

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/certs"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/result"
)

// TestCertificateExpiresInMidRun: the server closes the connection after each response, and from the ninth request on its
// certificate has expired. Every later request fails at its handshake with that reason.
func TestCertificateExpiresInMidRun(t *testing.T) {
	t.Parallel()
	a := &certs.Authority{Dir: t.TempDir()}
	ca, _ := a.Issue(t, "ca")
	good, err := tls.LoadX509KeyPair(a.Issue(t, "good"))
	if err != nil {
		t.Fatal(err)
	}
	expired, err := tls.LoadX509KeyPair(a.IssueUntil(t, "expired", time.Now().Add(-time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	// A run ends early when no connection could be made for some seconds.
	const answered, fewest = 8, 3
	var tasks []pool.Task
	for _, c := range commands(t) {
		for _, w := range c.wires {
			if w.cert == nil {
				continue
			}
			w.trust(ca)
			tasks = append(tasks, pool.Task{Name: c.name + "/" + w.name, Run: func(t *testing.T) {
				s := newFront(t, w, leaves())
				s.cert.Certificates = nil
				s.cert.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
					if asked, _ := s.counts(); asked >= answered {
						return &expired, nil
					}
					return &good, nil
				}
				e := load(t, s, c, w, c.closedLoop(requests)...)
				if e.code != 99 {
					t.Fatalf("exit code %d, want 99:\n%s", e.code, e.text)
				}
				if !c.report() {
					return
				}
				byClass, texts := e.failures()
				if failed := byClass["connect"]; failed < fewest || len(byClass) != 1 || e.succeeded() != answered {
					t.Errorf("%d succeeded, failures %v:\n%s", e.succeeded(), byClass, texts)
				}
				if !strings.Contains(texts, "expired") || e.Verdict.State != result.ServerFailed {
					t.Errorf("verdict %q with %q", e.Verdict.State, texts)
				}
			}})
		}
	}
	pool.Run(t, workers, tasks)
}
