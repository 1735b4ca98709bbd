package qa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

const (
	// limit is how long one run may take: only a hang takes so long. The longest check of the heavy tests needs some minutes.
	limit = 20 * time.Minute
	// atOnce is how many runs are made at a time. They wait for windows most of the time.
	atOnce = 6
	// peerCrashes is how often Triton may crash in one check.
	peerCrashes = 5
)

func here(name ...string) string {
	return filepath.Join(append([]string{binary.Root(), "e2e", "qa"}, name...)...)
}

// bench is what the checks need: the programs and the real Triton.
type bench struct {
	peers  *peers.Peers
	bin    string // the folder with perf_analyzer and redline-native
	keeper *peers.Keeper
	serve  *binary.Server // if not nil, checks run on this server instead of Triton
	shared []string       // kinds of shared memory that this machine has
	// disturbed is the time of runs of table H that other work kept from becoming steady.
	disturbed time.Duration
}

// newBench starts the real Triton with models of some folders.
func newBench(t *testing.T, folders []string, args ...string) *bench {
	t.Helper()
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "the checks of Triton's own tests", err, "Python 3 with venv, and apt")
	}
	b := &bench{peers: p, shared: []string{"none", "system"}}
	if b.bin, err = binary.Build(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		b.shared = append(b.shared, "cuda")
	}
	b.keeper = peers.Keep(t, func() (*peers.Triton, error) { return p.StartTritonWith(t.Context(), t.TempDir(), folders, args...) })
	return b
}

// perfAnalyzer is the program under test.
func (b *bench) perfAnalyzer() string { return filepath.Join(b.bin, "perf_analyzer") }

// fill puts the addresses of a server into a command line.
func (b *bench) fill(triton *peers.Triton, line string) string {
	http, grpc := triton.HTTP, triton.GRPC
	if b.serve != nil {
		http, grpc = b.serve.HTTP, b.serve.GRPC
	}
	port := grpc[strings.LastIndex(grpc, ":")+1:]
	return strings.NewReplacer("{http}", http, "{grpc}", grpc, "{grpcport}", port, "{data}", here("testdata")).Replace(line)
}

// run makes one run of a check in dir, and again where Triton crashed. See judge for the error.
func (b *bench) run(t *testing.T, c *check, bin, dir, line string) (output string, err error) {
	t.Helper()
	for range peerCrashes {
		triton := b.keeper.Triton()
		code, output := once(t, bin, dir, scale(b.fill(triton, line), outcome.Heavy()), cmp.Or(c.within, limit))
		why := c.wrong(code, output)
		switch {
		case why == "":
			return output, nil
		case b.keeper.Crashed(t, triton):
		case peers.CrashedInProcess(t, output):
		case peers.StubDied(output):
			t.Log("PEER CRASHED: Triton lost a process of its Python backend")
		default:
			return output, judge(t, code, output, fmt.Errorf("perf_analyzer %s: %s\n%s", line, why, output))
		}
	}
	outcome.Inconclusive(t, fmt.Sprintf("Triton crashed %d times with %s", peerCrashes, line))
	return "", nil
}

// once runs a command line one time.
func once(t *testing.T, bin, dir, line string, limit time.Duration) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, strings.Fields(line)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Helpers of Triton in process hold the pipe; after a crash of Triton they stay.
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be none left
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("perf_analyzer %s: %v", line, err)
	}
	if ctx.Err() != nil {
		t.Fatalf("perf_analyzer %s: no end within %v\n%s", line, limit, out)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// hold makes one run of a check.
func (b *bench) hold(t *testing.T, c *check, bin, line string) {
	t.Helper()
	disturbance.Try(t, func() error {
		t.Helper()
		_, err := b.run(t, c, bin, t.TempDir(), line)
		return err
	})
}

// judge ends the test with err. It returns an error instead where other work on the machine may be the
// reason: windows that differ too much or hold no request.
func judge(t *testing.T, code int, output string, err error) error {
	t.Helper()
	switch {
	case code == unstableCode:
		return errors.Join(errUnstable, err)
	case code != binary.NoRequests && !poorWindow.MatchString(output):
		t.Fatal(err)
	}
	return err
}

// unstableCode is the exit code of a run whose windows differed too much.
const unstableCode = 2

var errUnstable = errors.New("the windows differ too much")

var poorWindow = regexp.MustCompile(`(?m)Failed to obtain stable measurement|No valid requests recorded|^ {4}Request count: 0$|: 0 infer/sec`)
