package qa

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/certs"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// certificates writes a certificate authority, a server's and a client's certificate with their keys, and broken
// copies of the client's, into dir.
func certificates(t *testing.T, dir string) {
	t.Helper()
	a := &certs.Authority{Dir: dir}
	for _, name := range []string{"ca", "server", "client"} {
		a.Issue(t, name)
	}
	for _, name := range []string{"client.pem", "client.key"} {
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
	folder := t.TempDir()
	certificates(t, folder)
	at := func(name string) string { return filepath.Join(folder, name) }
	const modelName = "graphdef_int32_int32_int32"
	b := newBench(t, []string{pick(t, here("models"), modelName+".pbtxt", "qa.py")}, "--grpc-use-ssl=1", "--grpc-use-ssl-mutual=1", "--grpc-server-cert="+at("server.pem"), "--grpc-server-key="+at("server.key"), "--grpc-root-cert="+at("ca.pem"))
	var tasks []pool.Task
	hold := func(name, pass, line string) {
		tasks = append(tasks, pool.Task{Name: name, Run: func(t *testing.T) {
			b.hold(t, &check{pass: pass}, b.perfAnalyzer(), strings.ReplaceAll(line, "{certs}", folder))
		}})
	}
	const model = " -m " + modelName + " -p{5000}"
	remote := "-i grpc -u localhost:{grpcport}" + model + " --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file={certs}/ca.pem --ssl-grpc-private-key-file={certs}/client.key"
	hold("D1", "zero", remote+" --ssl-grpc-certificate-chain-file={certs}/client.pem")
	hold("D2", "fail", remote+" --ssl-grpc-certificate-chain-file={certs}/client2.pem")
	hold("D2_stranger", "fail", "-i grpc -u localhost:{grpcport}"+model+" --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file={certs}/ca.pem")
	pool.Run(t, atOnce, tasks)
	t.Run("https", func(t *testing.T) {
		tasks = nil
		secure := nginx(t, b.keeper.Triton().HTTP, folder)
		plain := "-u https://localhost:" + secure + " -i http" + model
		whole := plain + " --ssl-https-verify-peer 1 --ssl-https-verify-host 2 --ssl-https-ca-certificates-file {certs}/ca.pem" +
			" --ssl-https-client-certificate-file {certs}/client.pem --ssl-https-client-certificate-type PEM --ssl-https-private-key-type PEM"
		hold("D3", "zero", whole+" --ssl-https-private-key-file {certs}/client.key")
		hold("D4", "zero", plain+" --ssl-https-verify-peer 0 --ssl-https-verify-host 0")
		hold("D5", "fail", whole+" --ssl-https-private-key-file {certs}/client2.key")
		hold("D3_unknown_authority", "fail", plain+" --ssl-https-verify-peer 1 --ssl-https-verify-host 2")
		pool.Run(t, atOnce, tasks)
	})
}

// nginx starts a proxy that uses TLS, takes client certificates where it is given any, and passes on to an address.
// It returns its port.
func nginx(t *testing.T, to, certs string) string {
	t.Helper()
	program, err := peers.InstallNginx(t.Context())
	if err != nil {
		outcome.NotTested(t, "HTTPS", err, "nginx")
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
    ssl_certificate %[3]s/server.pem; ssl_certificate_key %[3]s/server.key;
    ssl_verify_client optional; ssl_client_certificate %[3]s/ca.pem;
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
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
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
