package peers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// Triton is a running server.
type Triton struct {
	HTTP, GRPC, Metrics string // host:port
	Dir                 string // has the models, the log and trace files
	LogFile             string
	regions             string // how its backend's shared memory is called
	cmd                 *exec.Cmd
	exited              chan struct{} // closed when it has ended
	result              error         // of the process, once it has ended
}

// StartTriton starts the server with the models of e2e/models; see StartTritonWith.
func (p *Peers) StartTriton(ctx context.Context, dir string) (*Triton, error) {
	return p.StartTritonWith(ctx, dir, []string{filepath.Join(binary.Root(), "e2e", "models")})
}

// StartTritonWith starts the server on free loopback ports with the models of some folders and further arguments,
// with everything that it writes below dir, and waits until it is ready. Stop ends it.
func (p *Peers) StartTritonWith(ctx context.Context, dir string, folders []string, args ...string) (*Triton, error) {
	models := filepath.Join(dir, "models")
	for _, from := range folders {
		if err := Repository(from, models); err != nil {
			return nil, err
		}
	}
	// Its Python backend gives up when a helper is slow to come up, as on a busy machine: then once more.
	t, err := p.launch(ctx, dir, args)
	for try := 1; err != nil && try < 3 && ctx.Err() == nil; try++ {
		t, err = p.launch(ctx, dir, args)
	}
	return t, err
}

// launch starts the server on the models below dir.
func (p *Peers) launch(ctx context.Context, dir string, args []string) (*Triton, error) {
	ports, err := FreePorts(3)
	if err != nil {
		return nil, err
	}
	addr := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	t := &Triton{Dir: dir, HTTP: addr(0), GRPC: addr(1), Metrics: addr(2), LogFile: filepath.Join(dir, "triton.log"), exited: make(chan struct{})}
	t.regions = fmt.Sprintf("redline_%d_%d_", os.Getpid(), ports[0])
	log, err := os.Create(t.LogFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	t.cmd = exec.Command(filepath.Join(p.Dir, "tritonserver"), append([]string{
		"--model-repository=" + filepath.Join(dir, "models"), "--disable-auto-complete-config",
		"--http-address=127.0.0.1", "--http-port=" + strconv.Itoa(ports[0]), "--http-thread-count=4",
		"--grpc-address=127.0.0.1", "--grpc-port=" + strconv.Itoa(ports[1]),
		"--metrics-address=127.0.0.1", "--metrics-port=" + strconv.Itoa(ports[2]), "--allow-gpu-metrics=false",
		"--backend-config=python,shm-default-byte-size=1048576", "--backend-config=python,shm-growth-byte-size=1048576",
		"--backend-config=python,shm-region-prefix-name=" + t.regions,
		"--cache-config=local,size=1048576",
		"--trace-config", "triton,file=" + filepath.Join(dir, "trace.json"), "--exit-timeout-secs=5",
	}, args...)...)
	t.cmd.Stdout, t.cmd.Stderr = log, log
	// A group of its own, so that Stop reaches the backend's helpers too.
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended := make(chan error, 1)
	if err := StartBound(t.cmd, (*exec.Cmd).Start, ended); err != nil {
		return nil, err
	}
	go func() {
		t.result = <-ended
		close(t.exited)
	}()
	if err := t.ready(ctx); err != nil {
		t.Stop()
		text, _ := os.ReadFile(t.LogFile)
		return nil, fmt.Errorf("start tritonserver: %w\n%s", err, tail(string(text), 30))
	}
	return t, nil
}

func (t *Triton) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, testkit.Limit)
	defer cancel()
	for {
		if Status(ctx, "http://"+t.HTTP+"/v2/health/ready") == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.exited:
			return errors.New("it ended during start-up")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Status requests a page and returns its status; 0 if no server responds.
func Status(ctx context.Context, url string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Err reports whether the server still runs; if not, the error ends with the tail of its log.
func (t *Triton) Err() error {
	select {
	case <-t.exited:
		text, _ := os.ReadFile(t.LogFile)
		return fmt.Errorf("tritonserver ended: %w\n%s", t.result, tail(string(text), 30))
	default:
		return nil
	}
}

// Stop ends the server, gently first.
func (t *Triton) Stop() {
	syscall.Kill(t.cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-t.exited:
	case <-time.After(20 * time.Second):
	}
	syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	// Helpers that are killed leave their memory behind.
	left, _ := filepath.Glob("/dev/shm/" + t.regions + "*")
	for _, name := range left {
		_ = os.Remove(name)
	}
}

var modelFile = regexp.MustCompile(`default_model_filename: "(.+)"`)

// Repository lays out a model repository in to from the flat folder from: NAME.pbtxt becomes NAME/config.pbtxt,
// with the Python file that it names beside it as version 1.
func Repository(from, to string) error {
	configs, err := filepath.Glob(filepath.Join(from, "*.pbtxt"))
	if err != nil {
		return err
	}
	for _, config := range configs {
		text, err := os.ReadFile(config)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(config), ".pbtxt")
		version := filepath.Join(to, name, "1")
		if err := os.MkdirAll(version, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name, "config.pbtxt"), append([]byte("name: \""+name+"\"\n"), text...), 0o644); err != nil {
			return err
		}
		m := modelFile.FindSubmatch(text)
		if m == nil {
			continue // an ensemble has no code
		}
		code, err := os.ReadFile(filepath.Join(from, string(m[1])))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(version, string(m[1])), code, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// FreePorts chooses ports that no program listens on now, for a program that must be told its ports. They lie below those that the system
// gives to outgoing connections, which could take one before the program listens on it.
func FreePorts(n int) ([]int, error) {
	const lowest, count, tries = 20_000, 12_000, 100
	var ports []int
	for try := 0; len(ports) < n; try++ {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(lowest+rand.IntN(count)))
		if err != nil {
			if try == tries {
				return nil, err
			}
			continue
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// Kill ends the server at once, with all of its processes, as a crash of the machine would.
func (t *Triton) Kill() {
	syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	<-t.exited
}
