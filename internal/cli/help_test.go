package cli

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	f := func(code int, want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := Main(&IO{Args: append([]string{"redline", "help"}, args...), Stdout: &out, Stderr: &errs}); got != code {
			t.Errorf("%v: exit code %d, want %d", args, got, code)
		}
		if text := out.String() + errs.String(); !strings.Contains(text, want) {
			t.Errorf("%v: %q lacks %q", args, text, want)
		}
		if (code == exitOK) != (errs.Len() == 0) {
			t.Errorf("%v: stderr: %q", args, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 120 {
				t.Errorf("%v: too wide: %q", args, line)
			}
		}
	}
	for _, c := range commands() {
		f(exitOK, "  "+c.name)
		f(exitOK, "Usage: redline "+c.name, c.name)
	}
	f(exitOK, "--concurrency-range", "profile")
	f(exitOK, "Usage: redline help", "--help")
	f(exitError, `there is no command "nope"`, "nope")
	f(exitError, "name one command", "profile", "llm")
}

func TestCompletion(t *testing.T) {
	f := func(code int, want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := Main(&IO{Args: append([]string{"redline", "completion"}, args...), Stdout: &out, Stderr: &errs}); got != code {
			t.Errorf("%v: exit code %d, want %d", args, got, code)
		}
		if text := out.String() + errs.String(); !strings.Contains(text, want) {
			t.Errorf("%v: %q lacks %q", args, text, want)
		}
	}
	f(exitOK, "complete -F _redline redline perf_analyzer", "bash")
	f(exitOK, "#compdef redline perf_analyzer", "zsh")
	f(exitOK, "complete -c redline", "fish")
	f(exitOK, "Usage: redline completion", "--help")
	f(exitError, "bash, zsh or fish")
	f(exitError, `there is no completion for "tcsh"`, "tcsh")
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if code := Main(&IO{Args: []string{"redline", "--version"}, Stdout: &out}); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.HasPrefix(out.String(), "redline ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q", out.String())
	}
	f := func(want string, info debug.BuildInfo) {
		t.Helper()
		if got := versionOf(&info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	rev := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}
	f("v1.2.3", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: rev})
	f("dev-0123456789ab", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: rev})
	f("dev", debug.BuildInfo{})
}
