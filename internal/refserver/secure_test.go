package refserver_test

import (
	"crypto/tls"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver"
	"github.com/redline-bench/redline/internal/testkit"
)

func TestMutualTLS(t *testing.T) {
	cert, pool := testkit.Certificate(t, "localhost")
	s := start(t, refserver.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}})
	get := func(cfg *tls.Config) error {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}}
		defer client.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.Addresses().HTTP+"/v2/health/ready", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := get(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := get(&tls.Config{RootCAs: pool}); err == nil {
		t.Error("a client without a certificate was let in")
	}
	conn, err := grpc.NewClient(s.Addresses().GRPC, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := kserve.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), simpleRequest("")); err != nil {
		t.Errorf("over gRPC: %v", err)
	}
}

func TestBearerToken(t *testing.T) {
	s := start(t, refserver.Config{Token: "secret"})
	for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "Bearer secret": 200} {
		if got, _, _ := call(t, "http://"+s.Addresses().HTTP+"/v2/health/ready", "", "Authorization", token); got != want {
			t.Errorf("HTTP with %q: %d, want %d", token, got, want)
		}
		if got, _, _ := call(t, "http://"+s.Addresses().OpenAI+"/v1/models", "", "Authorization", token); got != want {
			t.Errorf("OpenAI with %q: %d, want %d", token, got, want)
		}
	}
	c := dial(t, s)
	if _, err := c.ServerLive(t.Context(), &kserve.ServerLiveRequest{}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer secret")
	if _, err := c.ServerLive(ctx, &kserve.ServerLiveRequest{}); err != nil {
		t.Errorf("gRPC with: %v", err)
	}
}
