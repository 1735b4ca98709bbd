// Package faults loads servers that violate the protocol, break connections or crash, over every protocol and with every command that
// loads a server. Each fault is a script: the server counts its faults, and the report must agree.
package faults

import (
	"crypto/tls"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/certs"
)

var (
	bin       string
	reference *binary.Server // serves requests without a fault
)

func TestMain(m *testing.M) {
	binary.Main(func(dir, built string) (_ int, err error) {
		bin = built
		if reference, err = binary.StartServer(dir, bin, "--ttft", "0s", "--itl", "0s"); err != nil {
			return 0, err
		}
		defer reference.Stop()
		return m.Run(), nil
	})
}

// authority is a certificate for localhost, and the file with the authority that signed it.
func authority(t *testing.T) (cert tls.Certificate, ca string) {
	t.Helper()
	a := &certs.Authority{Dir: t.TempDir()}
	ca, _ = a.Issue(t, "ca")
	cert, err := tls.LoadX509KeyPair(a.Issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	return cert, ca
}
