//go:build unix

// Package manual runs every command of README.md and docs/ as a reader would: each code block of a page that is a shell script, in
// order, in a folder with the files that the examples name. Addresses are changed to those of a reference server, and loads are bounded.
//
// A block that cannot run here has a comment that says so and why ("# not run by the tests: REASON"). The program still checks the
// options of its commands.
package manual

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

// bin is the folder with the real programs.
var bin string

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains(programs, name) {
		os.Exit(standIn(name, os.Args[1:]))
	}
	flag.Parse()
	// The commands mostly wait, for windows and for intervals between requests.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	binary.Test(m, &bin)
}

// models are those of the examples that the reference server does not have.
var models = []string{"resnet50", "resnet", "my_model", "bert"}

const config = `backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 16 ] } ]
`

// harmless are the other programs that scripts may call. A script cannot reach any more: a page may show commands that change a
// cluster or install software.
var harmless = []string{"cat", "mkdir"}

// labels are the names of runs in the examples.
var labels = []string{"main", "tuesday", "today", "old", "old2", "old3", "new", "new2", "new3"}

func TestCommands(t *testing.T) {
	w := newWorld(t)
	for _, page := range pages(t) {
		list := blocks(t, page)
		if len(list) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			env := w.folder(t)
			for _, b := range list {
				env.run(t, page, b)
			}
		})
	}
}

// world is what all pages share: a reference server, another one whose models redline tune may change, the links to this test binary, and files to copy.
type world struct {
	links, files string
	addresses    string // of the reference servers, as JSON
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{links: t.TempDir(), files: t.TempDir()}
	self, err := os.Executable()
	must(t, err)
	for _, name := range programs {
		must(t, os.Symlink(self, filepath.Join(w.links, name)))
	}
	for _, name := range harmless {
		path, err := exec.LookPath(name)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(w.links, name)))
	}
	for _, name := range models {
		dir := filepath.Join(w.files, "my_models", name)
		must(t, os.MkdirAll(filepath.Join(dir, "1"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(config), 0o644))
	}
	options := []string{"--model-repository", filepath.Join(w.files, "my_models"), "--ttft", "5ms", "--itl", "1ms"}
	for _, name := range append(models, "simple", "custom_zero_1_int32", "torchserve") {
		options = append(options, "--delay", name+"=2ms")
	}
	server := start(t, options...)
	tuned := start(t, append(options, "--model-control-mode", "explicit", "--load-model", "*")...)
	addresses, err := json.Marshal(map[string]map[string]string{"": server.Ports, "tune": tuned.Ports})
	must(t, err)
	w.addresses = string(addresses)

	must(t, os.CopyFS(w.files, os.DirFS("testdata/files")))
	for _, name := range []string{"Llama-3-8B", "Qwen2.5"} {
		must(t, os.CopyFS(filepath.Join(w.files, name), os.DirFS(testkit.ChatTokenizer(t))))
	}
	w.measure(t, server.GRPC)
	return w
}

// start starts a reference server.
func start(t *testing.T, options ...string) *binary.Server {
	t.Helper()
	server, err := binary.StartServer(t.TempDir(), bin, options...)
	must(t, err)
	t.Cleanup(server.Stop)
	return server
}

// measure makes the results that the examples name, kept in a history and as files.
func (w *world) measure(t *testing.T, server string) {
	t.Helper()
	load := func(program string, options ...string) {
		cmd := exec.Command(filepath.Join(bin, program), append([]string{"-m", "resnet50", "-i", "grpc", "-u", server, "--concurrency-range", "8"}, options...)...)
		if program == "redline" {
			cmd.Args = slices.Insert(cmd.Args, 1, "profile", "--request-count", "200")
		}
		cmd.Dir, cmd.Env = w.files, append(os.Environ(), "REDLINE_HISTORY="+filepath.Join(w.files, "history"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	// The run of monday has a secret, which a repeated run needs again. It is not the last one.
	load("redline", "--label", "monday", "--json", "monday.json", "-H", "Authorization: Bearer secret")
	var wait sync.WaitGroup
	for _, label := range labels {
		wait.Go(func() { load("redline", "--label", label, "--json", label+".json") })
	}
	wait.Go(func() { load("perf_analyzer", "-p", "200", "-s", "999", "-f", "perf_analyzer.csv") })
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	must(t, os.Link(filepath.Join(w.files, "main.json"), filepath.Join(w.files, "baseline.json")))
}

// environment is the folder in which the scripts of a page run, and its variables.
type environment struct {
	dir       string
	variables []string
}

// folder copies the files for a page.
func (w *world) folder(t *testing.T) environment {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(w.files)))
	must(t, os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(binary.Root(), "examples"))))
	must(t, os.Symlink(w.links, filepath.Join(dir, "bin")))
	path := os.Getenv("PATH")
	return environment{dir, append(os.Environ(),
		"PATH="+w.links, pathVariable+"="+path, binVariable+"="+bin, rootVariable+"="+binary.Root(), portsVariable+"="+w.addresses,
		"REDLINE_HISTORY="+filepath.Join(dir, "history"), "HOME="+dir,
		"TOKEN=secret", "KEY=secret", "API_KEY=secret", "LLM_KEY=secret", "SERVER=gpu:8000", "GITHUB_STEP_SUMMARY=summary.md", "GITHUB_SHA=1234")}
}

// nothing answers commands that are not run: in a block with a reason only the options of redline are checked.
const nothing = "command_not_found_handle() { return 0; }\n"

// run runs a block and fails the test if one of its commands fails.
func (e environment) run(t *testing.T, page string, b block) {
	t.Helper()
	script, variables := "set -e\n"+b.script, e.variables
	if b.reason != "" {
		script = nothing + script
		variables = append(slices.Clip(variables), optionsVariable+"=1")
	}
	cmd := exec.CommandContext(t.Context(), "/bin/bash", "-c", script)
	cmd.Dir, cmd.Env = e.dir, variables
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %v (a block that cannot run here begins with '# not run by the tests: REASON')\n%s\n%s", page, b.line, err, b.script, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
