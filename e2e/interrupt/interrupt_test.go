//go:build unix

// Package interrupt sends signals to the program in every phase of a run: while it prepares, while a server leaves it
// without responses, and while nothing takes its output. The program must end in time with 130, with what was measured.
package interrupt

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit"
)

var (
	bin       string
	reference *binary.Server
)

func TestMain(m *testing.M) {
	binary.Main(func(dir, built string) (_ int, err error) {
		bin = built
		if reference, err = binary.StartServer(dir, bin); err != nil {
			return 0, err
		}
		defer reference.Stop()
		return m.Run(), nil
	})
}

// limit is how long a run may take in all. Only a run that cannot be interrupted takes so long.
const limit = testkit.Limit

// workers is how many programs run at a time: all except a few of them wait.
const workers = 12

// program is a run in a folder of its own.
type program struct {
	*exec.Cmd
	out, errs binary.Buffer
}

func start(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	p := &program{Cmd: exec.CommandContext(ctx, filepath.Join(bin, args[0]), args[1:]...)}
	p.Dir, p.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	p.Stdout, p.Stderr = &p.out, &p.errs
	return p
}

func (p *program) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the program and checks that it ends with 130 by itself, and leaves no temporary file.
func (p *program) ends(t *testing.T) {
	t.Helper()
	if err := p.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	if code := p.ProcessState.ExitCode(); code != 130 {
		t.Errorf("%q ends with %v, want exit status 130\n%s%s", p.Args, p.ProcessState, p.out.String(), p.errs.String())
	}
	if left, err := filepath.Glob(filepath.Join(p.Dir, ".redline-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// await waits for a text of the program.
func await(t *testing.T, b *binary.Buffer, text string) {
	t.Helper()
	for end := time.Now().Add(limit); !strings.Contains(b.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in\n%s", text, b.String())
		}
	}
}

// once is a channel that is closed once.
type once struct {
	sync.Once
	c chan struct{}
}

func newOnce() *once { return &once{c: make(chan struct{})} }

func (o *once) happened() { o.Do(func() { close(o.c) }) }

func (o *once) wait(t *testing.T, what string) {
	t.Helper()
	select {
	case <-o.c:
	case <-time.After(limit):
		t.Fatalf("%s did not happen", what)
	}
}

// silent is a server that accepts connections and never answers.
func silent(t *testing.T) (address string, accepted *once) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = newOnce()
	var mu sync.Mutex
	var kept []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			kept = append(kept, c)
			mu.Unlock()
			accepted.happened()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range kept {
			_ = c.Close()
		}
	})
	return l.Addr().String(), accepted
}

// holding is the reference server behind a proxy that never answers requests to paths that end so, from the nth on.
func holding(t *testing.T, backend, suffix string, nth int) (address string, held *once) {
	t.Helper()
	held = newOnce()
	end := make(chan struct{})
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: backend})
	var mu sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, suffix) {
			mu.Lock()
			nth--
			hold := nth <= 0
			mu.Unlock()
			if hold {
				held.happened()
				<-end
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(end)
		s.CloseClientConnections()
		s.Close()
	})
	return strings.TrimPrefix(s.URL, "http://"), held
}

func fifo(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASilentServerWhilePreparing(t *testing.T) {
	var tasks []pool.Task
	f := func(name string, sig syscall.Signal, args ...string) {
		tasks = append(tasks, pool.Task{Name: name, Run: func(t *testing.T) {
			address, accepted := silent(t)
			p := start(t, t.TempDir(), append(args, "-u", address)...)
			if err := binary.StartWithHangup(p.Cmd); err != nil {
				t.Fatal(err)
			}
			accepted.wait(t, "the connection")
			p.signal(t, sig)
			p.ends(t)
		}})
	}
	f("profile", syscall.SIGINT, "redline", "profile", "-m", "simple", "--records", "r.csv")
	f("profile grpc", syscall.SIGTERM, "redline", "profile", "-m", "simple", "-i", "grpc")
	f("perf_analyzer", syscall.SIGHUP, "perf_analyzer", "-m", "simple")
	f("simple", syscall.SIGINT, "redline", "simple", "-m", "simple")
	f("stress", syscall.SIGTERM, "redline", "stress", "sequence")
	f("llm grpc", syscall.SIGHUP, "redline", "llm", "-m", "m", "-i", "grpc")
	f("llm waits for its model", syscall.SIGINT, "redline", "llm", "-m", "m", "--wait-for-model-timeout", "600")
	pool.Run(t, workers, tasks)
}

// The program opens the pipe, which nothing is written to.
func TestAnInputThatIsAPipe(t *testing.T) {
	var tasks []pool.Task
	f := func(name string, sig syscall.Signal, args ...string) {
		tasks = append(tasks, pool.Task{Name: name, Run: func(t *testing.T) {
			dir := t.TempDir()
			path := fifo(t, dir)
			p := start(t, dir, append(args, path)...)
			if err := binary.StartWithHangup(p.Cmd); err != nil {
				t.Fatal(err)
			}
			w, err := os.OpenFile(path, os.O_WRONLY, 0) // returns when the program opens it
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			p.signal(t, sig)
			p.ends(t)
		}})
	}
	f("input data", syscall.SIGINT, "redline", "profile", "-m", "simple", "-u", reference.HTTP, "--records", "r.csv", "--input-data")
	f("input data of perf_analyzer", syscall.SIGTERM, "perf_analyzer", "-m", "simple", "-u", reference.HTTP, "--input-data")
	f("intervals", syscall.SIGHUP, "redline", "profile", "-m", "simple", "-u", reference.HTTP, "--request-intervals")
	f("baseline", syscall.SIGTERM, "redline", "profile", "-m", "simple", "-u", reference.HTTP, "--baseline")
	f("tokenizer", syscall.SIGINT, "redline", "llm", "-m", "m", "-u", reference.Ports["openai"], "--tokenizer")
	f("system prompt", syscall.SIGTERM, "redline", "llm", "-m", "m", "-u", reference.Ports["openai"], "--system-prompt-file")
	pool.Run(t, workers, tasks)
}

// A prompt of so many tokens takes longer to make than the run may take.
func TestAPromptThatIsBeingMade(t *testing.T) {
	p := start(t, t.TempDir(), "redline", "llm", "-m", "m", "-u", reference.Ports["openai"], "--isl", "1000000000")
	if err := binary.StartWithHangup(p.Cmd); err != nil {
		t.Fatal(err)
	}
	await(t, &p.out, "prompts: generated")
	p.signal(t, syscall.SIGTERM)
	p.ends(t)
}

// Requests are never answered: the first signal ends the run with a report, in the time that requests in flight have.
func TestRequestsWithoutAnAnswer(t *testing.T) {
	var tasks []pool.Task
	f := func(name, suffix string, nth, signals int, says string, args ...string) {
		tasks = append(tasks, pool.Task{Name: name, Run: func(t *testing.T) {
			backend := reference.HTTP
			if args[1] == "llm" {
				backend = reference.Ports["openai"]
			}
			address, held := holding(t, backend, suffix, nth)
			p := start(t, t.TempDir(), append(args, "-u", address)...)
			if err := binary.StartWithHangup(p.Cmd); err != nil {
				t.Fatal(err)
			}
			held.wait(t, "the request")
			p.signal(t, syscall.SIGINT)
			if signals > 1 {
				await(t, &p.errs, "stopping")
				p.signal(t, syscall.SIGINT)
			}
			p.ends(t)
			if text := p.out.String() + p.errs.String(); !strings.Contains(text, says) {
				t.Errorf("no %q in\n%s", says, text)
			}
		}})
	}
	verdict := "Verdict: interrupted"
	f("profile", "/infer", 1, 1, verdict, "redline", "profile", "-m", "simple")
	f("profile, two signals", "/infer", 30, 2, verdict, "redline", "profile", "-m", "simple", "--measurement-mode", "count_windows", "--measurement-request-count", "10")
	f("profile, open loop, two signals", "/infer", 30, 2, verdict, "redline", "profile", "-m", "simple", "--request-rate-range", "50", "-p", "60000")
	f("profile, request count", "/infer", 30, 1, verdict, "redline", "profile", "-m", "simple", "--request-count", "50")
	f("profile, warm-up", "/infer", 5, 1, verdict, "redline", "profile", "-m", "simple", "--warmup-request-count", "10")
	f("profile, statistics", "/stats", 3, 1, verdict, "redline", "profile", "-m", "simple", "-p", "200")
	f("perf_analyzer, statistics", "/stats", 3, 1, "Interrupt signal (2) received.", "perf_analyzer", "-m", "simple", "-p", "200")
	f("perf_analyzer", "/infer", 30, 1, "Interrupt signal (2) received.", "perf_analyzer", "-m", "simple", "--request-count", "50")
	f("simple", "/infer", 30, 1, "stopping", "redline", "simple", "-m", "custom_identity_fp32", "-s", "16")
	// One sequence, whose second request is held: more of them could expire in the server of a slow machine, which is a failure.
	f("stress", "/infer", 2, 1, "stopping", "redline", "stress", "sequence", "--protocol", "HTTP", "--timeout", "0", "-t", "1", "-r", "1")
	f("llm", "/chat/completions", 5, 1, verdict, "redline", "llm", "-m", "m", "--request-count", "10")
	f("llm, warm-up", "/chat/completions", 5, 2, "stopping", "redline", "llm", "-m", "m", "--warmup-request-count", "10")
	pool.Run(t, workers, tasks)
}

// Nothing reads from standard output, which is a full pipe.
func TestStandardOutputThatIsFull(t *testing.T) {
	var tasks []pool.Task
	f := func(name string, args ...string) {
		tasks = append(tasks, pool.Task{Name: name, Run: func(t *testing.T) {
			backend := reference.HTTP
			if args[1] == "llm" {
				backend = reference.Ports["openai"]
			}
			dir := t.TempDir()
			p := start(t, dir, append(args, "-u", backend)...)
			path := fifo(t, dir)
			r, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			w, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.Stdout = w
			err = binary.StartWithHangup(p.Cmd)
			_ = w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			fill(t, path)
			p.signal(t, syscall.SIGTERM)
			p.ends(t)
		}})
	}
	f("profile", "redline", "profile", "-m", "simple", "--json", "r.json")
	f("perf_analyzer", "perf_analyzer", "-m", "simple")
	f("stress", "redline", "stress", "sequence", "--protocol", "HTTP")
	f("llm", "redline", "llm", "-m", "m")
	pool.Run(t, workers, tasks)
}

// fill writes to a pipe until it takes no byte more.
func fill(t *testing.T, path string) {
	t.Helper()
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	for err == nil || errors.Is(err, syscall.EINTR) {
		_, err = syscall.Write(fd, make([]byte, 1))
	}
	if !errors.Is(err, syscall.EAGAIN) {
		t.Fatal(err)
	}
}

// The run is over when the signal comes, and nothing reads its result.
func TestAResultForAPipeThatNothingReads(t *testing.T) {
	var tasks []pool.Task
	f := func(name, done, flag string, args ...string) {
		tasks = append(tasks, pool.Task{Name: name, Run: func(t *testing.T) {
			backend := reference.HTTP
			if args[1] == "llm" {
				backend = reference.Ports["openai"]
			}
			dir := t.TempDir()
			p := start(t, dir, append(args, "-u", backend, flag, fifo(t, dir))...)
			if err := binary.StartWithHangup(p.Cmd); err != nil {
				t.Fatal(err)
			}
			await(t, &p.out, done)
			p.signal(t, syscall.SIGHUP)
			p.ends(t)
		}})
	}
	f("profile", "Inferences/Second vs", "--json", "redline", "profile", "-m", "simple", "--request-count", "20")
	f("perf_analyzer", "Inferences/Second vs", "-f", "perf_analyzer", "-m", "simple", "--request-count", "20")
	f("simple", "Throughput", "--json", "redline", "simple", "-m", "custom_identity_fp32", "-s", "16")
	f("stress", "Passed", "--json", "redline", "stress", "sequence", "--protocol", "HTTP", "-i", "2")
	f("llm", "Client health", "--json", "redline", "llm", "-m", "m", "--request-count", "4")
	pool.Run(t, workers, tasks)
}
