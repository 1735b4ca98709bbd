package standin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/redline-bench/redline/internal/plan"
)

// Certificate writes a certificate for this machine, and its key into the same file, where a target wants TLS. The file
// is gone after done; without TLS there is none.
func Certificate(t *plan.Target) (file string, done func(), err error) {
	if !t.Secure() {
		return "", func() {}, nil
	}
	text, err := SelfSigned()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "redline-calibrate-")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.RemoveAll(dir) } // what stays in the temporary folder does no harm
	file = filepath.Join(dir, "server.pem")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		done()
		return "", nil, err
	}
	return file, done, nil
}

// SelfSigned makes a certificate for 127.0.0.1 that is good for a day, and its key.
func SelfSigned() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	return append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}
