package qa

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/native"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit"
)

// inProcess is table E: the server in the process of perf_analyzer. Its model repositories lie below left.
func (b *bench) inProcess(t *testing.T, left string) []pool.Task {
	t.Helper()
	var list []pool.Task
	for _, c := range read(t, "E") {
		list = append(list, pool.Task{Name: c.name, Run: func(t *testing.T) {
			launcher, home := native.Launcher(t, b.peers, b.bin)
			model := strings.Fields(c.run)[2]
			models := filepath.Join(left, c.name)
			copyModel(t, model, models)
			for _, line := range c.each(b.shared) {
				b.hold(t, &c, launcher, strings.Replace(line, "{C}", "--service-kind=triton_c_api --triton-server-directory="+home+" --model-repository="+models, 1))
			}
		}})
	}
	return list
}

// copyModel lays one model into a repository of its own.
func copyModel(t *testing.T, name, to string) {
	t.Helper()
	if err := peers.Repository(pick(t, here("models"), name+".pbtxt", "qa.py"), to); err != nil {
		t.Fatal(err)
	}
}

// noneLeft is E13: no process of the servers that ran in process is left. Those that were told to end may need a moment.
func noneLeft(t *testing.T, left string) {
	var running []string
	for end := time.Now().Add(testkit.Limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if running = mentioning(t, left); len(running) == 0 {
			return
		}
	}
	t.Errorf("still run: %q", running)
}

// mentioning returns the command lines of processes that mention a folder.
func mentioning(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), folder) {
			list = append(list, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return list
}
