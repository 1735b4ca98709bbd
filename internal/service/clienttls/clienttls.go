// Package clienttls makes the TLS configuration of a client out of a plan's settings and files.
package clienttls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Load reads the files of t for connections to host. Like in curl, the two flags of verification are independent: one turns off
// the check of the server's certificate chain, the other the check of its name. Without a file of authorities the system's are
// trusted.
func Load(t plan.TLS, host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", service.ErrAuthorities, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s holds no PEM certificate", service.ErrAuthorities, t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := clientCertificate(t)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", service.ErrCertificate, err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	if t.SkipVerifyPeer || t.SkipVerifyHost {
		c.InsecureSkipVerify = true // verifier makes the check that is left
		c.VerifyConnection = verifier(t, c.RootCAs, host)
	}
	return c, nil
}

func verifier(t plan.TLS, roots *x509.CertPool, host string) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		if len(cs.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		leaf := cs.PeerCertificates[0]
		if !t.SkipVerifyHost {
			if err := leaf.VerifyHostname(host); err != nil {
				return err
			}
		}
		if t.SkipVerifyPeer {
			return nil
		}
		inter := x509.NewCertPool()
		for _, cert := range cs.PeerCertificates[1:] {
			inter.AddCert(cert)
		}
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter})
		return err
	}
}

// clientCertificate reads the certificate and its key, each as PEM or DER. As in curl, one PEM file may hold both.
func clientCertificate(t plan.TLS) (tls.Certificate, error) {
	cert, err := readPEM(t.CertFile, t.CertType, "CERTIFICATE")
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate: %w", err)
	}
	key := cert
	if t.KeyFile != "" {
		if key, err = readPEM(t.KeyFile, t.KeyType, "PRIVATE KEY"); err != nil {
			return tls.Certificate{}, fmt.Errorf("client key: %w", err)
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("client certificate %s: %w", t.CertFile, err)
	}
	return pair, nil
}

func readPEM(path, form, kind string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err == nil && strings.EqualFold(form, "DER") {
		b = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})
	}
	return b, err
}
