// Package llm_test runs `redline llm` against `redline serve`, whose times are pinned and whose log says when each
// event left: what the client reports must be what the server did.
package llm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/result"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// rig is a server and a folder.
type rig struct {
	*binary.Server
	dir string
}

func serve(t *testing.T, options ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	s, err := binary.StartServer(dir, bin, append([]string{"--openai-port", "0"}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return &rig{s, dir}
}

// ended is how a run ended.
type ended struct {
	out, err string
	code     int
	rss      int64 // largest resident size, in bytes
}

func (r *rig) redline(t *testing.T, args ...string) ended {
	t.Helper()
	return r.program(t, "redline", args...)
}

// program runs the program under one of its names.
func (r *rig) program(t *testing.T, name string, args ...string) ended {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, name), args...)
	cmd.Dir = r.dir
	var e ended
	e.out, e.err, e.code = binary.Output(t, cmd)
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.rss = u.Maxrss << 10
	}
	return e
}

// llm runs `redline llm` against the OpenAI port and reads the result; it must end well.
func (r *rig) llm(t *testing.T, args ...string) *result.Result {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	e := r.redline(t, append([]string{"llm", "-m", "mock-llm", "-u", r.Ports["openai"], "--json", file}, args...)...)
	if e.code != 0 {
		t.Fatalf("exit code %d\n%s%s", e.code, e.out, e.err)
	}
	return binary.Result(t, file)
}

// metric finds a metric of a level.
func metric(t *testing.T, lv *result.Level, tag string) result.Metric {
	t.Helper()
	for _, m := range lv.Metrics {
		if m.Tag == tag {
			return m
		}
	}
	t.Fatalf("there is no %s", tag)
	return result.Metric{}
}

func (r *rig) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// prompts writes a file of so many prompts in seed 003's form.
func (r *rig) prompts(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"input\": \"prompt %d of the file\", \"output\": \"x\"}\n", i)
	}
	return r.write(t, "prompts.jsonl", b.String())
}
