package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/certs"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// front is a real server of HTTP/2 before something that streams.
type front struct {
	bin, dir      string
	plain, secure string // host:port
	cmd           *exec.Cmd
}

// newFront builds the program, and makes a folder with a certificate for localhost.
func newFront(t *testing.T) *front {
	t.Helper()
	bin := binary.Built(t)
	ports, err := peers.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{bin: bin, dir: t.TempDir(), plain: "localhost:" + strconv.Itoa(ports[0]), secure: "localhost:" + strconv.Itoa(ports[1])}
	a := &certs.Authority{Dir: f.dir}
	a.Issue(t, "ca")
	a.Issue(t, "server")
	return f
}

func (f *front) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the server until the test ends, and waits until it listens.
func (f *front) start(t *testing.T, name string, args ...string) {
	t.Helper()
	f.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	log, err := os.Create(filepath.Join(f.dir, "log")) // a file, as the children of the server have it open too
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	f.cmd.Dir, f.cmd.Stdout, f.cmd.Stderr = f.dir, log, log
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = f.cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = f.cmd.Process.Signal(syscall.SIGTERM) // it may have died as it should; a kill would leave its workers
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = f.cmd.Process.Kill()
			<-ended
		}
	})
	for deadline := time.Now().Add(testkit.Limit); ; time.Sleep(20 * time.Millisecond) {
		nc, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.secure)
		if err == nil {
			nc.Close()
			return
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("the server ended: %s", text)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// load streams a payload and returns the exported requests, the text and the exit code.
func (f *front) load(t *testing.T, secure bool, payload string, args ...string) ([]request, string, int) {
	t.Helper()
	data := f.write(t, "data.json", `{"data":[{"payload":[`+payload+`]}]}`)
	export := filepath.Join(t.TempDir(), "export.json")
	args = append([]string{"profile", "-m", "m", "--service-kind", "openai", "--async", "--endpoint", chat, "--input-data", data, "--profile-export-file", export}, args...)
	if secure { // both sides choose the version
		args = append(args, "-u", "https://"+f.secure, "--ssl-https-ca-certificates-file", filepath.Join(f.dir, "ca.pem"))
	} else {
		args = append(args, "-u", f.plain, "--http-version", "2")
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(f.bin, "redline"), args...)
	cmd.Env = append(os.Environ(), "REDLINE_HISTORY=off")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if _, err := os.Stat(export); err != nil {
		return nil, string(out), cmd.ProcessState.ExitCode()
	}
	return requests(t, export), string(out), cmd.ProcessState.ExitCode()
}

// whole holds that all requests have all events in order, each with its own time where they were written apart.
func whole(t *testing.T, got []request, out string, code, n, events int) {
	t.Helper()
	if code != 0 || len(got) < n {
		t.Fatalf("ended with %d, %d requests:\n%s", code, len(got), out)
	}
	for i, r := range got {
		if len(r.Outputs) != events+1 || !strings.Contains(r.Outputs[events].Response, "[DONE]") {
			t.Fatalf("request %d has %d events", i, len(r.Outputs))
		}
		for k := range r.Times[1:] {
			if r.Times[k+1] < r.Times[k] {
				t.Fatalf("request %d: event %d came before event %d", i, k+1, k)
			}
		}
	}
}

func hypercorn(t *testing.T) *front {
	t.Helper()
	env, err := peers.InstallHypercorn(t.Context())
	if err != nil {
		outcome.NotTested(t, "HTTP/2 with hypercorn", err, "python3 with venv")
	}
	f := newFront(t)
	config := f.write(t, "config.py", fmt.Sprintf("bind = ['%s']\ninsecure_bind = ['%s']\ncertfile = 'server.pem'\nkeyfile = 'server.key'\nkeep_alive_max_requests = 100000\nloglevel = 'WARNING'\n", f.secure, f.plain))
	app, err := os.ReadFile(filepath.Join("testdata", "app.py"))
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, "app.py", string(app))
	f.start(t, filepath.Join(env, "bin", "hypercorn"), "-c", "file:"+config, "--graceful-timeout", "1", "app:app")
	return f
}

// Hypercorn: streams share connections, with TLS and without.
func TestHypercorn(t *testing.T) {
	f := hypercorn(t)
	for name, secure := range map[string]bool{"h2c": false, "tls": true} {
		t.Run(name, func(t *testing.T) {
			got, out, code := f.load(t, secure, `{"tokens":8,"pause":0.002}`, "--concurrency-range", "8", "--request-count", "120")
			whole(t, got, out, code, 120, 8)
			if !strings.Contains(got[0].Outputs[0].Response, `"version": "2"`) {
				t.Errorf("not HTTP/2: %s", got[0].Outputs[0].Response)
			}
		})
		t.Run(name+", events of a megabyte", func(t *testing.T) {
			got, out, code := f.load(t, secure, `{"tokens":3,"size":1000000}`, "--concurrency-range", "4", "--request-count", "8")
			whole(t, got, out, code, 8, 3)
			if n := len(got[0].Outputs[1].Response); n < 1_000_000 {
				t.Errorf("an event of %d bytes", n)
			}
		})
	}
	t.Run("wrong endpoint", func(t *testing.T) {
		_, out, code := f.load(t, false, `{"tokens":1}`, "--endpoint", "v1/none", "--request-count", "4")
		if code == 0 || !strings.Contains(out, "HTTP 404") {
			t.Errorf("ended with %d\n%s", code, out)
		}
	})
	t.Run("dies", func(t *testing.T) {
		_, out, code := f.load(t, true, `{"tokens":50,"pause":0.002,"die":20}`, "--concurrency-range", "4", "--request-count", "40")
		if code == 0 || !strings.Contains(out, "transport") {
			t.Errorf("ended with %d\n%s", code, out)
		}
	})
}

// nginx passes streams of the reference server on over HTTP/2, leaves a connection after 25 requests, and resets the
// streams of a server behind it that died.
func TestNginx(t *testing.T) {
	nginx, err := peers.InstallNginx(t.Context())
	if err != nil {
		outcome.NotTested(t, "HTTP/2 with nginx", err, "nginx")
	}
	f := newFront(t)
	back, err := binary.StartServer(f.dir, f.bin, "--ttft", "2ms", "--itl", "2ms")
	if err != nil {
		t.Fatal(err)
	}
	defer back.Stop()
	config := f.write(t, "nginx.conf", fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  keepalive_requests 25; ssl_certificate server.pem; ssl_certificate_key server.key; proxy_buffering off; proxy_http_version 1.1;
  server { listen %[2]s http2; location / { proxy_pass http://%[4]s; } }
  server { listen %[3]s ssl http2; location / { proxy_pass http://%[4]s; } }
}
`, f.dir, f.plain, f.secure, back.Ports["openai"]))
	f.start(t, nginx, "-e", "stderr", "-p", f.dir, "-c", config)
	const ask = `{"model":"m","stream":true,"max_tokens":%d,"messages":[{"role":"user","content":"hello"}]}`
	for name, secure := range map[string]bool{"h2c": false, "tls": true} {
		t.Run(name, func(t *testing.T) {
			got, out, code := f.load(t, secure, fmt.Sprintf(ask, 8), "--concurrency-range", "8", "--request-count", "120")
			whole(t, got, out, code, 120, 9) // the reason to finish is an event of its own
		})
		t.Run(name+", events of a megabyte", func(t *testing.T) {
			got, out, code := f.load(t, secure, fmt.Sprintf(ask, 3), "--concurrency-range", "4", "--request-count", "8", "-H", "X-Redline-Stream: big=1000000")
			whole(t, got, out, code, 8, 4)
			if n := len(got[0].Outputs[1].Response); n < 1_000_000 {
				t.Errorf("an event of %d bytes", n)
			}
		})
	}
	t.Run("a stream is cut", func(t *testing.T) {
		_, out, code := f.load(t, true, fmt.Sprintf(ask, 8), "--concurrency-range", "2", "--request-count", "6", "-H", "X-Redline-Stream: cut=3")
		if code == 0 || !strings.Contains(out, "transport") {
			t.Errorf("ended with %d\n%s", code, out)
		}
	})
	t.Run("the server behind is gone", func(t *testing.T) {
		back.Stop()
		_, out, code := f.load(t, false, fmt.Sprintf(ask, 8), "--request-count", "6")
		if code == 0 || !strings.Contains(out, "502") {
			t.Errorf("ended with %d\n%s", code, out)
		}
	})
}
