package rest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// identity is a self-signed certificate with its files in both forms.
type identity struct {
	cert                             tls.Certificate
	pool                             *x509.CertPool
	certPEM, keyPEM, certDER, keyDER string
}

func newIdentity(t *testing.T, name string) identity {
	t.Helper()
	cert, pool := testkit.Certificate(t, name)
	keyDER, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	id, der := identity{cert: cert, pool: pool}, cert.Certificate[0]
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	id.certDER, id.keyDER = file("cert.der", der), file("key.der", keyDER)
	id.certPEM = file("cert.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	id.keyPEM = file("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	return id
}

func TestTLS(t *testing.T) {
	here, other, client := newIdentity(t, "localhost"), newIdentity(t, "elsewhere"), newIdentity(t, "client")
	asks := &tls.Config{Certificates: []tls.Certificate{here.cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: client.pool}
	right := &tls.Config{Certificates: []tls.Certificate{here.cert}}
	wrong := &tls.Config{Certificates: []tls.Certificate{other.cert}}
	for name, tc := range map[string]struct {
		server *tls.Config
		tls    plan.TLS
		ok     bool
	}{
		"trusted":                     {right, plan.TLS{CAFile: here.certPEM}, true},
		"not trusted":                 {right, plan.TLS{}, false},
		"peer not asked":              {right, plan.TLS{SkipVerifyPeer: true}, true},
		"peer not asked, other name":  {wrong, plan.TLS{SkipVerifyPeer: true}, false},
		"other name":                  {wrong, plan.TLS{CAFile: other.certPEM}, false},
		"host not asked":              {wrong, plan.TLS{CAFile: other.certPEM, SkipVerifyHost: true}, true},
		"host not asked, not trusted": {wrong, plan.TLS{SkipVerifyHost: true}, false},
		"nothing asked":               {wrong, plan.TLS{SkipVerifyHost: true, SkipVerifyPeer: true}, true},
		"client in PEM":               {asks, plan.TLS{CAFile: here.certPEM, CertFile: client.certPEM, KeyFile: client.keyPEM, CertType: "PEM"}, true},
		"client in DER":               {asks, plan.TLS{CAFile: here.certPEM, CertFile: client.certDER, KeyFile: client.keyDER, CertType: "DER", KeyType: "DER"}, true},
		"client in both":              {asks, plan.TLS{CAFile: here.certPEM, CertFile: client.certPEM, KeyFile: client.keyDER, KeyType: "DER"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveTLS(t, tc.server, simple)
			tg := target("https://localhost" + srv.addr[len("127.0.0.1"):])
			tg.TLS = tc.tls
			s := newService(t, tg, plan.Input{})
			if !tc.ok {
				tr, err := s.Open(t.Context(), &collector{})
				if err != nil {
					t.Fatal(err)
				}
				defer tr.Close()
				var se *service.Error
				if err := tr.Grow(t.Context(), 1); !errors.As(err, &se) || se.Class != record.Connect || neterr.KindOf(err) != neterr.Handshake {
					t.Errorf("got %v", err)
				}
				return
			}
			in := simpleInputs()
			in.Tensors[0].Data = make([]byte, 1<<18)
			k, calls := open(t, s, in, 2)
			k.run(calls, 40)
			if got := k.count(record.OK); len(got) != 40 {
				t.Errorf("%d of 40, %v", len(got), k.ends[0].err)
			}
		})
	}
}

func TestTLSNoCertificateForAServerThatAsks(t *testing.T) {
	here, client := newIdentity(t, "localhost"), newIdentity(t, "client")
	srv := serveTLS(t, &tls.Config{Certificates: []tls.Certificate{here.cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: client.pool}, simple)
	tg := target("https://localhost" + srv.addr[len("127.0.0.1"):])
	tg.TLS = plan.TLS{CAFile: here.certPEM}
	k, calls := open(t, newService(t, tg, plan.Input{}), simpleInputs(), 1) // in TLS 1.3 the refusal comes after the handshake
	k.run(calls, 1)
	if e := k.ends[0]; e.class == record.OK {
		t.Errorf("%v", e)
	}
}
