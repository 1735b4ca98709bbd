package qa

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// certificates writes a certificate authority, a server's and a client's certificate with their keys, and broken
// copies of the client's, into dir.
func certificates(t *testing.T, dir string) {
	t.Helper()
	var authority *x509.Certificate
	var signer *ecdsa.PrivateKey
	for serial, name := range []string{"ca", "server", "client"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		cert := &x509.Certificate{
			SerialNumber: big.NewInt(int64(serial + 1)), Subject: pkix.Name{CommonName: "redline test " + name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
			BasicConstraintsValid: true,
		}
		switch name {
		case "ca":
			cert.IsCA, cert.KeyUsage, cert.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
			authority, signer = cert, key
		case "server":
			cert.DNSNames, cert.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
		}
		der, err := x509.CreateCertificate(rand.Reader, cert, authority, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name+".crt"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
		write(t, filepath.Join(dir, name+".key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	}
	for _, name := range []string{"client.crt", "client.key"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		broken := strings.ReplaceAll(string(text), "M", "N")
		write(t, filepath.Join(dir, strings.Replace(name, "client", "client2", 1)), broken)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Table D: mutual TLS, over gRPC with Triton's own, over HTTP with nginx before it, as Triton has none there.
func TestTLS(t *testing.T) {
	certs := t.TempDir()
	certificates(t, certs)
	at := func(name string) string { return filepath.Join(certs, name) }
	b := newBench(t, "--grpc-use-ssl=1", "--grpc-use-ssl-mutual=1", "--grpc-server-cert="+at("server.crt"), "--grpc-server-key="+at("server.key"), "--grpc-root-cert="+at("ca.crt"))
	bin := filepath.Join(b.bin, "perf_analyzer")
	_, port, err := net.SplitHostPort(b.triton.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(name, pass, line string) {
		t.Run(name, func(t *testing.T) {
			b.hold(t, &check{run: strings.ReplaceAll(line, "{certs}", certs), pass: pass}, bin)
		})
	}
	const model = " -m graphdef_int32_int32_int32 -p{5000}"
	remote := "-i grpc -u localhost:" + port + model + " --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file={certs}/ca.crt --ssl-grpc-private-key-file={certs}/client.key"
	hold("D1", "zero", remote+" --ssl-grpc-certificate-chain-file={certs}/client.crt")
	hold("D2", "fail", remote+" --ssl-grpc-certificate-chain-file={certs}/client2.crt")
	hold("D2_stranger", "fail", "-i grpc -u localhost:"+port+model+" --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file={certs}/ca.crt")
	secure := nginx(t, b.triton.HTTP, certs)
	plain := "-u https://localhost:" + secure + " -i http" + model
	whole := plain + " --ssl-https-verify-peer 1 --ssl-https-verify-host 2 --ssl-https-ca-certificates-file {certs}/ca.crt" +
		" --ssl-https-client-certificate-file {certs}/client.crt --ssl-https-client-certificate-type PEM --ssl-https-private-key-type PEM"
	hold("D3", "zero", whole+" --ssl-https-private-key-file {certs}/client.key")
	hold("D4", "zero", plain+" --ssl-https-verify-peer 0 --ssl-https-verify-host 0")
	hold("D5", "fail", whole+" --ssl-https-private-key-file {certs}/client2.key")
	hold("D3_unknown_authority", "fail", plain+" --ssl-https-verify-peer 1 --ssl-https-verify-host 2")
}

// nginx starts a proxy that speaks TLS, takes client certificates where it is given any, and passes on to an address.
// It returns its port.
func nginx(t *testing.T, to, certs string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		cache, err := peers.CacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(cache, "nginx")
		if out, err := exec.CommandContext(t.Context(), "bash", filepath.Join(binary.Root(), "e2e", "peers", "nginx.sh"), dir).CombinedOutput(); err != nil {
			t.Skipf("**** HTTPS IS NOT TESTED: no nginx: %v\n%s ****", err, out)
		}
		program = filepath.Join(dir, "usr", "sbin", "nginx")
	}
	ports, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	dir, port := t.TempDir(), strconv.Itoa(ports[0])
	config := filepath.Join(dir, "nginx.conf")
	write(t, config, fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1;
events { worker_connections 256; }
http {
  access_log off; client_max_body_size 0; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  server {
    listen 127.0.0.1:%[2]s ssl; server_name localhost;
    ssl_certificate %[3]s/server.crt; ssl_certificate_key %[3]s/server.key;
    ssl_verify_client optional; ssl_client_certificate %[3]s/ca.crt;
    location / { proxy_pass http://%[4]s; proxy_http_version 1.1; }
  }
}
`, dir, port, certs, to))
	cmd := exec.Command(program, "-p", dir, "-c", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		var d net.Dialer
		if c, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return port
		}
		select {
		case <-ctx.Done():
			t.Fatal("nginx does not listen")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
