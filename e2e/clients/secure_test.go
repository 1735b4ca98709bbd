package clients_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// authority makes certificates into files of a folder.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// issue writes NAME.pem and NAME.key, signed by a, or by itself where a is not yet one.
func (a *authority) issue(t *testing.T, name string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageCRLSign
		template.SubjectKeyId = []byte{1, 2, 3, 4}
		parent, signer = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, private.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		a.key = private
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, kind string, data []byte) string {
		path := filepath.Join(a.dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write(name+".pem", "CERTIFICATE", der), write(name+".key", "PRIVATE KEY", secret)
}

// Real clients speak TLS with every port, present a token, and where the server asks for it a certificate.
func TestSecurePorts(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	modules := python(t)
	a := &authority{dir: t.TempDir()}
	ca, _ := a.issue(t, "authority", 1)
	serverCert, serverKey := a.issue(t, "server", 2)
	clientCert, clientKey := a.issue(t, "client", 3)
	for name, c := range map[string]struct {
		options []string
		files   map[string]string
	}{
		"TLS":        {nil, map[string]string{"ca": ca}},
		"mutual TLS": {[]string{"--tls-client-ca", ca}, map[string]string{"ca": ca, "cert": clientCert, "key": clientKey}},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, append([]string{"--tls-cert", serverCert, "--tls-key", serverKey, "--bearer-token", "sesame"}, c.options...)...)
			addresses, err := json.Marshal(s.Ports)
			if err != nil {
				t.Fatal(err)
			}
			files, err := json.Marshal(c.files)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "python3", "run.py", "secure")
			cmd.Dir = "scripts"
			cmd.Env = append(os.Environ(), "PYTHONPATH="+modules, "PYTHONDONTWRITEBYTECODE=1", "ADDRESSES="+string(addresses), "CERTIFICATES="+string(files), "TOKEN=sesame")
			out, err := cmd.CombinedOutput()
			report(t, out)
			if err != nil && !t.Failed() {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
