package qa

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/pool"
)

// TestChecks makes the checks of all tables but D. Those that only count run side by side; tables F and H and the
// ranks of MPI measure, and so they come after the others, one at a time.
func TestChecks(t *testing.T) {
	b := newBench(t, []string{borrowed(t), here("models")})
	tasks := b.longWaits()
	left := t.TempDir()
	tasks = append(tasks, b.inProcess(t, left)...)
	for _, c := range read(t, "ABCG") {
		tasks = append(tasks, b.tasks(t, &c)...)
	}
	tasks = append(tasks, pool.Task{Name: "decoupled", Run: b.decoupled})
	pool.Run(t, atOnce, tasks)
	t.Run("E13", func(t *testing.T) { noneLeft(t, left) })
	t.Run("ranks", b.ranks)
	t.Run("ground truth", b.groundTruth)
	t.Run("no model", b.noModel)
}

// tasks makes a subtest of each command line of a check.
func (b *bench) tasks(t *testing.T, c *check) []pool.Task {
	t.Helper()
	if c.on == onServe {
		b = b.onRedline(t)
	}
	var list []pool.Task
	lines := c.each(b.shared)
	for i, line := range lines {
		name := c.name
		if len(lines) > 1 {
			name = fmt.Sprintf("%s_%d", c.name, i+1)
		}
		need := needs(line)
		if c.on == onOwn {
			need = nil
		}
		list = append(list, pool.Task{Name: name, Needs: need, Run: func(t *testing.T) {
			switch {
			case c.name == "A3":
				b.inOrder(t, c, line)
			case c.on == onOwn:
				newBench(t, []string{pick(t, here("models"), c.models[0]+".pbtxt", "qa.py")}).hold(t, c, b.perfAnalyzer(), line)
			default:
				b.hold(t, c, b.perfAnalyzer(), line)
			}
			if c.trace != "" {
				b.traced(t, c.trace)
			}
		}})
	}
	return list
}

// needs names the state of the server that a run has for itself: a run forgets all regions of shared memory at its
// start, and numbers its sequences from 1.
func needs(line string) []string {
	var list []string
	if strings.Contains(line, "--shared-memory") && !strings.Contains(line, "none") {
		list = append(list, "shared memory")
	}
	if strings.Contains(line, "sequence") {
		list = append(list, "sequences")
	}
	return list
}

// inOrder is A3, and A4: no sequence began before the one with its number had ended, says the server's log.
func (b *bench) inOrder(t *testing.T, c *check, line string) {
	before, err := os.ReadFile(b.keeper.Triton().LogFile)
	if err != nil {
		t.Fatal(err)
	}
	b.hold(t, c, b.perfAnalyzer(), line)
	after, err := os.ReadFile(b.keeper.Triton().LogFile)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.TrimPrefix(string(after), string(before)), "The previous sequence did not end before this sequence start") {
		t.Error("A4: a sequence began before the one before it had ended")
	}
}

// traced searches for a text in the trace files that the server wrote.
func (b *bench) traced(t *testing.T, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.keeper.Triton().Dir, "trace.json*"))
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

// onRedline is a bench with `redline serve` for the time of the test.
func (b *bench) onRedline(t *testing.T) *bench {
	t.Helper()
	models := t.TempDir()
	if err := peers.Repository(here("models", "serve"), models); err != nil {
		t.Fatal(err)
	}
	other := *b
	var err error
	if other.serve, err = binary.StartServer(t.TempDir(), b.bin, "--model-repository", models); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.serve.Stop)
	return &other
}

// borrowed is a folder with the models of the conformance tests that are used here too.
func borrowed(t *testing.T) string {
	t.Helper()
	return pick(t, filepath.Join(binary.Root(), "e2e", "models"), "optional.pbtxt", "identity_fp32.pbtxt", "repeat.pbtxt", "identity.py", "repeat.py")
}

// pick copies files of a folder into a new one.
func pick(t *testing.T, from string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, tables string) []check {
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
		if strings.Contains(tables, c.name[:1]) {
			list = append(list, c)
		}
	}
	return list
}
