//go:build unix

// Package start follows the page of the first run word for word, as a user whose account has an empty home folder and nothing but Go, or
// nothing but Python: it must end with a report.
//
// Nothing is published yet, so a folder stands for the module proxy, and another one for the package index.
package start

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

const (
	page    = "docs/start/first-run.md"
	module  = "github.com/redline-bench/redline"
	version = "v0.1.0"
)

func TestWithGo(t *testing.T) {
	outcome.HeavyOnly(t, "the first run in an account with nothing but Go")
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOROOT").Output()
	must(t, err)
	folders := strings.Fields(string(cache))
	follow(t, "With Go", filepath.Join(folders[1], "bin", "go"),
		"GOPROXY=file://"+proxy(t)+",file://"+filepath.Join(folders[0], "cache", "download"), "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw")
}

func TestWithPython(t *testing.T) {
	outcome.HeavyOnly(t, "the first run in an account with nothing but Python")
	python, err := exec.CommandContext(t.Context(), "python3", "-c", "import os, sys, venv, pip; print(os.path.realpath(sys.executable))").Output()
	if err != nil {
		outcome.NotTested(t, "the first run with Python", err, "python3 and python3-venv")
	}
	wheels := t.TempDir()
	run(t, "go", "run", "-C", filepath.Join(binary.Root(), "tools"), "./release", "-dir", binary.Root(), "-out", wheels,
		"-version", version, "-platforms", runtime.GOOS+"/"+runtime.GOARCH, "wheels")
	follow(t, "With Python", strings.TrimSpace(string(python)), "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+wheels, "PIP_DISABLE_PIP_VERSION_CHECK=1")
}

// follow runs the commands of a section of the page in an empty home folder. PATH has one program, go or python3.
func follow(t *testing.T, section, program string, env ...string) {
	t.Helper()
	home, path := t.TempDir(), t.TempDir()
	name := "go"
	if section == "With Python" {
		name = "python3"
	}
	must(t, os.Symlink(program, filepath.Join(path, name)))
	cmd := exec.CommandContext(t.Context(), "/bin/bash", "-e", "-c", script(t, section))
	cmd.Dir, cmd.Env = home, slices.Concat(env, []string{"HOME=" + home, "PATH=" + path})
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", section, err, out)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	t.Logf("%s: %.0f s with %.0f s of CPU time on %d cores", section, time.Since(begun).Seconds(), cpu.Seconds(), runtime.NumCPU())
	report, err := os.ReadFile(filepath.Join(home, "report.html"))
	must(t, err)
	if !strings.Contains(string(report), "<html") || !strings.Contains(string(report), "concurrency 4") {
		t.Errorf("%s: report.html is no report of four levels: %d bytes", section, len(report))
	}
}

// script are the commands of a section of the page.
func script(t *testing.T, section string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(binary.Root(), page))
	must(t, err)
	_, rest, ok := strings.Cut(string(text), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", page, section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var commands strings.Builder
	for line := range strings.Lines(rest) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			commands.WriteString(command)
		}
	}
	return commands.String()
}

// proxy writes the source tree as a module into a folder that has the layout of a module proxy.
func proxy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	versions := filepath.Join(dir, filepath.FromSlash(module), "@v")
	must(t, os.MkdirAll(versions, 0o755))
	must(t, os.WriteFile(filepath.Join(versions, "list"), []byte(version+"\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(versions, version+".info"), []byte(`{"Version":"`+version+`","Time":"2026-01-01T00:00:00Z"}`), 0o644))
	mod, err := os.ReadFile(filepath.Join(binary.Root(), "go.mod"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(versions, version+".mod"), mod, 0o644))

	archive, err := os.Create(filepath.Join(versions, version+".zip"))
	must(t, err)
	defer archive.Close()
	w := zip.NewWriter(archive)
	for name := range strings.SplitSeq(run(t, "git", "-C", binary.Root(), "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		data, err := os.ReadFile(filepath.Join(binary.Root(), name))
		if err != nil || ofOtherModule(name) { // a deleted file cannot be read
			continue
		}
		f, err := w.Create(module + "@" + version + "/" + name)
		must(t, err)
		_, err = f.Write(data)
		must(t, err)
	}
	must(t, w.Close())
	return dir
}

// ofOtherModule tells whether a file is below a folder, not the root, that has a go.mod.
func ofOtherModule(name string) bool {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(binary.Root(), dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

// run runs a program that must succeed and returns what it prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
