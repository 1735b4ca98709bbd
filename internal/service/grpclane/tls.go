package grpclane

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"github.com/redline-bench/redline/internal/plan"
)

// tlsConfig makes the TLS settings out of PEM files; nil where TLS was not asked for. Without a file of root
// certificates the machine's own are trusted.
func tlsConfig(t plan.TLS) (*tls.Config, error) {
	if !t.GRPC {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fileError("root certificates", t.CAFile, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fileError("root certificates", t.CAFile, errors.New("it holds no certificate in PEM form"))
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("a client certificate needs both the certificate chain and the private key")
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fileError("client certificate", t.CertFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
