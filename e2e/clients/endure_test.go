package clients_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	server "github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// sizes are how much the server has to endure: a little in every run, all of it with REDLINE_HEAVY.
type sizes struct {
	idle   int // connections that say nothing
	tensor int // bytes of one tensor
	noise  int // connections that talk nonsense, on each port
}

// A crowd of idle connections, clients that stop reading, a huge tensor and garbage on every port at once: the server
// continues serving the others, and its memory comes back to about what it was.
func TestEndures(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	load := sizes{idle: 1000, tensor: 64 << 20, noise: 4}
	if outcome.Heavy() {
		load = sizes{idle: 10_000, tensor: 1 << 30, noise: 50}
	}
	s := start(t)
	serves(t, s)
	before := resident(t, s)

	idle := crowd(t, s, load.idle)
	serves(t, s)
	stalled := stall(t, s)
	serves(t, s)
	for name, address := range s.Ports {
		for range load.noise {
			garbage(t, address)
		}
		serves(t, s)
		t.Logf("garbage on %s", name)
	}
	echo(t, s, load.tensor)
	serves(t, s)
	t.Logf("resident: %d MiB before, %d MiB at the end of the load", before>>20, resident(t, s)>>20)

	for _, c := range append(idle, stalled...) {
		_ = c.Close()
	}
	// What is left over may be twice the beginning and a little: the runtime keeps some room, the stacks of a crowd.
	limit := 2*before + 64<<20
	var after int
	const patience = 3 * time.Minute
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if after = resident(t, s); after <= limit {
			t.Logf("resident: %d MiB afterwards", after>>20)
			serves(t, s)
			return
		}
	}
	t.Errorf("resident: %d MiB before, still %d MiB %s after the load", before>>20, after>>20, patience)
}

// serves checks that a well-behaved client gets its response.
func serves(t *testing.T, s *server.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	const body = `{"inputs":[{"name":"INPUT0","shape":[1,2],"datatype":"INT32","data":[5,6]}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTP+"/v2/models/custom_identity_int32/infer", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("the server does not serve: %v\n%s", err, s.Stderr.String())
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(text, []byte(`"data":[5,6]`)) {
		t.Fatalf("the server answers %d %s %v", resp.StatusCode, text, err)
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{Timeout: testkit.Limit}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("connect to %s: %v; the limit on open files may be too low", address, err)
	}
	return c
}

// crowd opens connections to the two main ports and leaves them alone.
func crowd(t *testing.T, s *server.Server, n int) []net.Conn {
	t.Helper()
	var out []net.Conn
	for i := range n {
		out = append(out, dial(t, []string{s.HTTP, s.GRPC}[i%2]))
	}
	return out
}

// stall requests large responses and never reads them.
func stall(t *testing.T, s *server.Server) []net.Conn {
	t.Helper()
	const elements = 4 << 20
	head := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","shape":[1,%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, elements, 4*elements)
	var out []net.Conn
	for range 2 {
		c := dial(t, s.HTTP)
		request := fmt.Sprintf("POST /v2/models/custom_identity_fp32/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s", len(head), len(head)+4*elements, head)
		if _, err := io.Copy(c, io.MultiReader(strings.NewReader(request), io.LimitReader(zeros{}, 4*elements))); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// garbage sends what no protocol is, in three forms, and leaves.
func garbage(t *testing.T, address string) {
	t.Helper()
	noise := make([]byte, 4096)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for _, front := range []string{"", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "POST /v2/models/simple/infer HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"} {
		c := dial(t, address)
		_, _ = c.Write(append([]byte(front), noise...)) // the server may hang up at any byte
		_ = c.Close()
	}
}

// echo sends one huge tensor and reads it back.
func echo(t *testing.T, s *server.Server, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	head := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","shape":[1,%d],"datatype":"FP32","parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`, size/4, size)
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, int64(size)-4), bytes.NewReader(binary.LittleEndian.AppendUint32(nil, 7)))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.HTTP+"/v2/models/custom_identity_fp32/infer", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len(head) + size)
	req.Header.Set("Inference-Header-Content-Length", strconv.Itoa(len(head)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	last := &tail{}
	n, err := io.Copy(last, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || n < int64(size) || binary.LittleEndian.Uint32(last.end[:]) != 7 {
		t.Fatalf("%d bytes came back with status %d, the last %v: %v", n, resp.StatusCode, last.end, err)
	}
}

// tail keeps the last four bytes of what is written.
type tail struct{ end [4]byte }

func (w *tail) Write(b []byte) (int, error) {
	keep := append(w.end[:], b[max(0, len(b)-4):]...)
	copy(w.end[:], keep[len(keep)-4:])
	return len(b), nil
}

// resident is the memory that the server holds, by the system's count.
func resident(t *testing.T, s *server.Server) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Pid()))
	if err != nil {
		t.Skipf("this system does not tell how much memory a process holds: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
