package torchserve_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/torchserve"
	"github.com/redline-bench/redline/internal/testkit/suite"
)

func TestSuite(t *testing.T) {
	srv, err := refserver.Start(t.Context(), refserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	suite.Run(t, suite.Kind{
		Addr: srv.Addresses().TorchServe, Inputs: input(path),
		// Its answers may be anything: only a break of HTTP is malformed.
		New: func(t *testing.T, addr string, f suite.Fault) service.Service {
			tg := plan.Target{Kind: plan.TorchServe, Protocol: plan.HTTP, URL: addr, Model: "echo"}
			if f == suite.Malformed {
				f = "length"
			}
			if f != suite.None {
				tg.Headers = []plan.Header{{Name: "X-Redline-Fault", Value: string(f)}}
			}
			s, err := torchserve.New(tg)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Malformed: record.Transport,
	})
}
