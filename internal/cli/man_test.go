package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// man runs `redline man` and returns what it prints.
func man(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	p := &command.IO{Args: append([]string{"redline", "man"}, args...), Stdout: &out, Stderr: &out, Width: noTerminal, Getenv: noEnv, Version: "v1.2.3", Files: pending.New(&secret.Set{})}
	if got := Main(p); got != code {
		t.Errorf("%v: exit code %d, want %d", args, got, code)
	}
	return out.String()
}

func TestManPages(t *testing.T) {
	f := func(code int, want string, args ...string) {
		t.Helper()
		if text := man(t, code, args...); !strings.Contains(text, want) {
			t.Errorf("%v: %q lacks %q", args, text, want)
		}
	}
	f(command.ExitOK, `.TH REDLINE 1 "" "redline v1.2.3"`)
	f(command.ExitOK, ".SH SYNOPSIS\n.nf\nredline COMMAND [options]\n")
	f(command.ExitOK, `\fB\-\-concurrency\-range\fR \fI`, "profile")
	f(command.ExitOK, ".SS Examples\n.nf\n", "completion")
	f(command.ExitOK, ".SH Examples\n.nf\n", "profile")
	f(command.ExitOK, ".SH Exit codes\n.nf\n", "llm")
	f(command.ExitOK, ".TH PERF_ANALYZER 1", "perf_analyzer")
	f(command.ExitError, `unknown command "nope"`, "nope")
	f(command.ExitError, "--dir writes all pages", "--dir", t.TempDir(), "llm")
}

// man accepts every page without a warning, and shows every option of the command.
func TestManReadsThePages(t *testing.T) {
	path, err := exec.LookPath("man")
	if err == nil {
		err = isManDB(t, path)
	}
	if err != nil {
		outcome.NotTested(t, "manual pages in man", err, "man-db")
	}
	dir := filepath.Join(t.TempDir(), "man1")
	man(t, command.ExitOK, "--dir", dir)
	for _, c := range described() {
		t.Run(c.Name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), path, "--warnings=all", "-E", "UTF-8", "-l", filepath.Join(dir, "redline-"+c.Name+".1"))
			cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MAN_KEEP_FORMATTING=", "MANROFFSEQ=")
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil || errs.Len() > 0 {
				t.Errorf("%v\n%s", err, errs.String())
			}
			for _, row := range c.Rows {
				if row.Instead == "" && !strings.Contains(out.String(), row.Name()) {
					t.Errorf("the page lacks %s", row.Name())
				}
			}
		})
	}
}

// isManDB returns an error unless a program is man of man-db. Containers of Ubuntu have a program named man that only prints how to install
// man-db, and exits with 0.
func isManDB(t *testing.T, path string) error {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), path, "--version").Output()
	if err == nil && !bytes.HasPrefix(version, []byte("man ")) {
		err = fmt.Errorf("%s is not man of man-db", path)
	}
	return err
}
