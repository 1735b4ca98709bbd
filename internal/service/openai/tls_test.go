package openai_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// TestTLS: the flags for TLS are honored, which perf_analyzer leaves unread, and streams come through it.
func TestTLS(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{token("a"), token("b"), done} {
			_, _ = io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tls plan.TLS
		ok  bool
	}{
		"unknown authority": {plan.TLS{}, false},
		"its own":           {plan.TLS{CAFile: ca}, true},
		"not asked":         {plan.TLS{SkipVerifyPeer: true, SkipVerifyHost: true}, true},
	} {
		tg := target(srv.URL)
		tg.TLS = tc.tls
		s := newService(t, tg)
		k := &collector{keep: true, open: map[int]*ended{}}
		tr, err := s.Open(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		k.tr = tr
		if err := tr.Grow(t.Context(), 1); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
		if tc.ok {
			req, err := s.Prepare(inputs(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			k.run([]*service.Call{{Req: req}}, 20)
			for _, e := range k.ends {
				if e.rec.Class != record.OK || len(e.texts) != 3 {
					t.Fatalf("%s: %+v", name, e)
				}
			}
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
}
