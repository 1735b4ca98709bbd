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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// limit is how long one run may take: the longest check of the heavy tests needs some minutes.
const limit = 8 * time.Minute

// heavy asks for windows and loads as large as in the tables; otherwise they are a part of that.
var heavy = os.Getenv("REDLINE_HEAVY") != ""

func here(name ...string) string {
	return filepath.Join(append([]string{binary.Root(), "e2e", "qa"}, name...)...)
}

// bench is what the checks need: the program, the real Triton, and the addresses to fill in.
type bench struct {
	peers  *peers.Peers
	bin    string // the folder with perf_analyzer and redline-native
	triton *peers.Triton
	fill   *strings.Replacer
	shared []string // kinds of shared memory that this machine has
	start  func() error
}

// newBench starts the real Triton with all models, or skips.
func newBench(t *testing.T, args ...string) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("short")
	}
	p, err := peers.Install(t.Context())
	if err != nil {
		t.Skipf("**** NOT TESTED: the checks of Triton's own tests: %v ****", err)
	}
	b := &bench{peers: p, shared: []string{"none", "system"}}
	if b.bin, err = binary.Build(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		b.shared = append(b.shared, "cuda")
	}
	folders := []string{borrowed(t), here("models")}
	b.start = func() error {
		server, err := p.StartTritonWith(t.Context(), t.TempDir(), folders, args...)
		if err != nil {
			return err
		}
		b.triton = server
		b.fill = strings.NewReplacer("{http}", server.HTTP, "{grpc}", server.GRPC, "{data}", here("testdata"))
		return nil
	}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.triton.Stop() })
	return b
}

// borrowed is a folder with the models of the conformance tests that are used here too.
func borrowed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"optional.pbtxt", "identity_fp32.pbtxt", "repeat.pbtxt", "identity.py", "repeat.py"} {
		text, err := os.ReadFile(filepath.Join(binary.Root(), "e2e", "models", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	repeated = regexp.MustCompile(`\{(\d+) ([^ {}]*)\}`)
	number   = regexp.MustCompile(`\{(\d+)\}`)
	either   = regexp.MustCompile(`\{(\d+)\|(\d+)\}`)
	window   = regexp.MustCompile(`-p\{(\d+)\}`)
)

// scale fills in numbers in braces: whole in heavy tests, a tenth otherwise, or the second of two. Windows are a twentieth
// then, a tenth of a second at least.
func scale(line string) string {
	if !heavy {
		line = window.ReplaceAllStringFunc(line, func(s string) string {
			n, _ := strconv.Atoi(window.FindStringSubmatch(s)[1])
			return "-p" + strconv.Itoa(max(100, n/20))
		})
	}
	part := func(text string) int {
		n, _ := strconv.Atoi(text)
		if !heavy {
			n /= 10
		}
		return n
	}
	line = repeated.ReplaceAllStringFunc(line, func(s string) string {
		m := repeated.FindStringSubmatch(s)
		return strings.TrimSpace(strings.Repeat(m[2]+" ", part(m[1])))
	})
	if heavy { // where others compete, a window has to be longer to hold as much
		longer := min(5, rivals())
		line = window.ReplaceAllStringFunc(line, func(s string) string {
			n, _ := strconv.Atoi(window.FindStringSubmatch(s)[1])
			return "-p" + strconv.Itoa(int(float64(n)*longer))
		})
	}
	line = either.ReplaceAllString(line, map[bool]string{true: "$1", false: "$2"}[heavy])
	return number.ReplaceAllStringFunc(line, func(s string) string { return strconv.Itoa(part(s[1 : len(s)-1])) })
}

// run runs a command line with perf_analyzer in dir.
func (b *bench) run(t *testing.T, bin, dir, line string) (code int, output string) {
	t.Helper()
	return b.runFor(t, bin, dir, line, limit)
}

func (b *bench) runFor(t *testing.T, bin, dir, line string, limit time.Duration) (code int, output string) {
	t.Helper()
	line = scale(b.fill.Replace(line)) + " -v"
	if !strings.Contains(line, " -s") { // a short window on a busy machine says little about steadiness
		line += map[bool]string{true: fmt.Sprintf(" -s %.0f", 100*rivals()), false: " -s 9999"}[heavy]
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, strings.Fields(line)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("perf_analyzer %s: %v", line, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// hold makes one check. A window in which the machine did other work, or a server that crashed, gives two more chances.
func (b *bench) hold(t *testing.T, c *check, bin string) {
	t.Helper()
	for _, line := range c.each(b.shared) {
		var why, output string
		for range 3 {
			var code int
			code, output = b.runFor(t, bin, t.TempDir(), line, cmp.Or(c.within, limit))
			if why = c.wrong(code, output); why == "" {
				break
			}
			crashed, err := b.revive(t)
			if err != nil {
				t.Fatal(err)
			}
			if !crashed && !unlucky(code) && !chance.MatchString(output) {
				break
			}
			t.Logf("once more: perf_analyzer %s: %s\n%s", line, why, passes(output))
		}
		if why != "" {
			t.Errorf("perf_analyzer %s: %s\n%s", line, why, output)
		}
	}
}

// passes are the lines that tell what each window held, and the last ones, which tell how it ended.
func passes(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	var out []string
	for i, line := range lines {
		if strings.HasPrefix(line, "  Pass [") || i >= len(lines)-5 {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// revive starts Triton again where it crashed, as this release does now and then with many streams: a server that is
// gone says nothing of the client.
func (b *bench) revive(t *testing.T) (crashed bool, err error) {
	t.Helper()
	time.Sleep(time.Second) // a crash takes a moment to be seen, more where it still writes down where it was
	for range 100 {
		if b.triton.Err() != nil || answers(t, "http://"+b.triton.HTTP+"/v2/health/live") {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	cause := b.triton.Err()
	if cause == nil {
		return false, nil
	}
	t.Logf("**** %v: it is started again ****", cause)
	b.triton.Stop()
	return true, b.start()
}

func answers(t *testing.T, url string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return peers.Status(ctx, url) != 0
}

// chance matches what is said where windows differed too much, or where Triton gave up a helper that had no core for a while.
var chance = regexp.MustCompile(`Failed to obtain stable measurement|Stub process '\S+' is not healthy`)

// unlucky tells of a run whose windows differed too much, or held no request: on a busy machine that may be chance.
func unlucky(code int) bool { return code == 2 || code == 3 }

func read(t *testing.T, prefixes string) []check {
	t.Helper()
	f, err := os.Open(here("testdata", "checks.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := parse(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []check
	for _, c := range all {
		if strings.Contains(prefixes, c.name[:1]) {
			list = append(list, c)
		}
	}
	return list
}

// TestChecks makes the checks of all tables but D, in groups that run beside one another, each with a server of its own:
// they wait for windows most of the time. Table H, whose windows must be steady, comes after them.
func TestChecks(t *testing.T) {
	t.Run("beside one another", func(t *testing.T) {
		all := read(t, "B")
		half := slices.IndexFunc(all, func(c check) bool { return c.name == "B13" })
		beside := func(name string, group func(*testing.T, *bench)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				group(t, newBench(t))
			})
		}
		beside("B to 12", func(t *testing.T, b *bench) { b.tables(t, all[:half]) })
		beside("B from 13", func(t *testing.T, b *bench) { b.tables(t, all[half:]) })
		beside("ACG", func(t *testing.T, b *bench) {
			b.tables(t, read(t, "ACG"))
			t.Run("decoupled", b.decoupled)
			t.Run("ranks", b.ranks)
		})
		beside("EF", func(t *testing.T, b *bench) {
			t.Run("in process", b.inProcess)
			t.Run("ground truth", b.groundTruth)
		})
	})
	t.Run("no model", func(t *testing.T) { newBench(t).noModel(t) })
}

// tables makes checks of tables A (sequences that follow each other), B (both protocols), C (single runs) and G (reports
// of caches).
func (b *bench) tables(t *testing.T, list []check) {
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			if c.on != "" {
				b.onRedline(t, &c)
				return
			}
			b.hold(t, &c, filepath.Join(b.bin, "perf_analyzer"))
			if c.trace != "" {
				b.traced(t, c.trace)
			}
			if c.name == "A3" {
				log, err := os.ReadFile(b.triton.LogFile)
				if err != nil || strings.Contains(string(log), "The previous sequence did not end before this sequence start") {
					t.Errorf("A4: a sequence began before the one before it had ended, or: %v", err)
				}
			}
		})
	}
}

// traced looks for a text in the trace files that the server wrote.
func (b *bench) traced(t *testing.T, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.triton.Dir, "trace.json*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), text) {
			return
		}
	}
	t.Errorf("no trace file has %s: %v", text, files)
}

// onRedline makes a check on `redline serve` with the same models.
func (b *bench) onRedline(t *testing.T, c *check) {
	models := t.TempDir()
	if err := peers.Repository(here("models", "serve"), models); err != nil {
		t.Fatal(err)
	}
	s, err := binary.Serve(t.TempDir(), filepath.Join(b.bin, "redline"), "serve", "--model-repository", models)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	other := *b
	other.fill = strings.NewReplacer("{http}", s.HTTP, "{grpc}", s.GRPC, "{data}", here("testdata"))
	other.hold(t, c, filepath.Join(b.bin, "perf_analyzer"))
}

// copyModel lays one model into a repository of its own.
func copyModel(t *testing.T, name, to string) {
	t.Helper()
	flat := t.TempDir()
	for _, file := range []string{name + ".pbtxt", "qa.py"} {
		data, err := os.ReadFile(here("models", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(flat, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := peers.Repository(flat, to); err != nil {
		t.Fatal(err)
	}
}

func TestScale(t *testing.T) {
	if heavy {
		t.Skip("whole numbers")
	}
	if got := scale("-p{2000} a {30 x=y} b{1000}:{500}"); got != "-p100 a x=y x=y x=y b100:50" {
		t.Error(got)
	}
	c := check{run: "{P} {M}", pass: "ok"}
	if got := fmt.Sprint(c.each([]string{"none", "system"})); got != "[-i grpc -u {grpc} none -i grpc -u {grpc} system -i http -u {http} none -i http -u {http} system]" {
		t.Error(got)
	}
	for output, want := range map[string]string{"fine": "", "an error": `the output has "error"`, "x: 0 infer/sec": `the output has ": 0 infer/sec"`} {
		if got := c.wrong(0, output); got != want {
			t.Errorf("%q: %q", output, got)
		}
	}
}
