package grpcpool_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2"
)

const check = "/grpc.health.v1.Health/Check"

// exchange asks whether the server is well: an empty message, answered by one.
type exchange struct{ at *grpcpool.Server }

func (exchange) Render(*service.Call) h2.Message { return h2.Message{} }

func (exchange) Message(c *service.Call, _ []byte, _ int64) { c.Rec.Responses++ }

func (x exchange) End(_ *service.Call, status int, text string, _ int64) *service.Error {
	if status != 0 {
		return x.at.StatusError(status, text)
	}
	return nil
}

// sink hands over each call that has ended.
type sink chan *service.Call

func (sink) Response(*service.Call, []byte, int64, bool) {}

func (s sink) Done(c *service.Call) { s <- c }

// listen makes a server that can be asked for its health, at an address.
func listen(t *testing.T, addr string, opts ...grpc.ServerOption) *grpc.Server {
	t.Helper()
	ln := testkit.Listen(t, addr)
	srv := grpc.NewServer(opts...)
	grpc_health_v1.RegisterHealthServer(srv, health.NewServer())
	testkit.ServeGRPC(t, srv, ln)
	return srv
}

// Calls fail as long as there is no server, and succeed once there is one.
func TestLazyDial(t *testing.T) {
	addr := testkit.Port(t)
	at, err := grpcpool.NewServer(plan.Target{URL: addr})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(sink, 1)
	open := func() service.Transport {
		tr, err := grpcpool.New(t.Context(), at, ended, at.Header(check), func() grpcpool.Exchange { return exchange{at} })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = tr.Close() })
		return tr
	}
	tr := open()
	var e *service.Error
	if err := tr.Grow(t.Context(), 1); !errors.As(err, &e) || e.Class != record.Connect || e.Op != service.OpConnect {
		t.Errorf("without a server: %v", err)
	}
	at.DialLazily()
	tr = open()
	if err := tr.Grow(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	call := &service.Call{Slot: 99}
	send := func() {
		tr.Send(call)
		tr.Flush()
		<-ended
	}
	if send(); call.Rec.Class != record.Connect || call.Err == nil || call.Rec.End == 0 {
		t.Errorf("%v: %+v", call.Err, call.Rec)
	}
	listen(t, addr)
	for send(); call.Rec.Class == record.Connect; { // an attempt of before may still be failing
		send()
	}
	if call.Err != nil || call.Rec.Responses != 1 {
		t.Errorf("%v: %+v", call.Err, call.Rec)
	}
	for worked := time.Duration(0); worked == 0; send() { // a connection counts its work after it has ended the call
		_, worked = tr.(service.Multiplexer).Connections()
	}
}

// A connection that the server has left is made again for the next call.
func TestCallsAcrossRestarts(t *testing.T) {
	addr := testkit.Port(t)
	at, err := grpcpool.NewServer(plan.Target{URL: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = at.Close() }()
	var answer grpc_health_v1.HealthCheckResponse
	ask := func(path string) error {
		return at.Call(t.Context(), "health", path, &grpc_health_v1.HealthCheckRequest{}, &answer)
	}
	class := func(err error) record.Class {
		var e *service.Error
		if !errors.As(err, &e) || e.Op != "health" || e.Addr != addr {
			t.Fatalf("%#v", err)
		}
		return e.Class
	}
	if err := ask(check); class(err) != record.Connect {
		t.Error(err)
	}
	srv := listen(t, addr)
	if err := ask(check); err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v: %v", err, &answer)
	}
	if err := ask("/grpc.health.v1.Health/Nothing"); class(err) != record.Server {
		t.Error(err)
	}
	srv.Stop()
	listen(t, addr)
	if err := ask(check); err != nil {
		t.Error(err)
	}
}

// The settings of TLS have the same meaning as over HTTP.
func TestCertificateOfAnotherName(t *testing.T) {
	cert, _ := testkit.Certificate(t, "elsewhere")
	addr := testkit.Port(t)
	listen(t, addr, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	for skip, want := range map[bool]record.Class{false: record.Connect, true: record.OK} {
		at, err := grpcpool.NewServer(plan.Target{URL: addr, TLS: plan.TLS{GRPC: true, SkipVerifyPeer: skip, SkipVerifyHost: skip}})
		if err != nil {
			t.Fatal(err)
		}
		err = at.Call(t.Context(), "health", check, &grpc_health_v1.HealthCheckRequest{}, &grpc_health_v1.HealthCheckResponse{})
		e, failed := errors.AsType[*service.Error](err)
		if failed != (want != record.OK) || failed && e.Class != want {
			t.Errorf("verification off is %v: %v", skip, err)
		}
		if err := at.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBadTargets(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(target plan.Target, want string) {
		t.Helper()
		if _, err := grpcpool.NewServer(target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	header := func(name, value string) plan.Target {
		return plan.Target{Headers: []plan.Header{{Name: name, Value: value}}}
	}
	f(header("", "v"), `header name "" is not allowed`)
	f(header(":path", "v"), "is not allowed")
	f(header("a b", "v"), "is not allowed")
	f(header("Grpc-Timeout", "1"), `header "Grpc-Timeout" belongs to gRPC itself`)
	f(header("a", "b\nc"), "line break")
	f(plan.Target{TLS: plan.TLS{GRPC: true, CAFile: empty}}, "holds no PEM certificate")
	f(plan.Target{TLS: plan.TLS{GRPC: true, CAFile: empty + "x"}}, "no usable CA certificates: open ")
	f(plan.Target{TLS: plan.TLS{GRPC: true, CertFile: empty}}, "needs both")
	f(plan.Target{TLS: plan.TLS{GRPC: true, CertFile: empty, KeyFile: empty}}, "no usable client certificate")
}

func TestTargets(t *testing.T) {
	for url, want := range map[string]string{
		"localhost:8001": "localhost:8001", "dns:///h:1": "h:1", "dns:h:1": "h:1", "ipv4:127.0.0.1:8001": "127.0.0.1:8001",
		"h": "h:443", "[::1]": "[::1]:443", "[::1]:5": "[::1]:5", "h:1/": "h:1", "h:word": "h:0", "h:": "h:0",
		"http://h:1": "http://h:1", "::1": "::1", "": "",
	} {
		s, err := grpcpool.NewServer(plan.Target{URL: url})
		if err != nil || s.Addr() != want {
			t.Errorf("%q is %q, want %q (%v)", url, s.Addr(), want, err)
		}
	}
}
