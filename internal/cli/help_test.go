package cli

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/result"
)

func noTerminal() int { return 0 }

func noEnv(string) string { return "" }

func TestHelp(t *testing.T) {
	f := func(code int, want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := Main(&command.IO{Args: append([]string{"redline", "help"}, args...), Stdout: &out, Stderr: &errs, Width: noTerminal, Getenv: noEnv}); got != code {
			t.Errorf("%v: exit code %d, want %d", args, got, code)
		}
		if text := out.String() + errs.String(); !strings.Contains(text, want) {
			t.Errorf("%v: %q lacks %q", args, text, want)
		}
		if (code == command.ExitOK) != (errs.Len() == 0) {
			t.Errorf("%v: stderr: %q", args, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 120 {
				t.Errorf("%v: too wide: %q", args, line)
			}
		}
	}
	for _, c := range commands() {
		f(command.ExitOK, "  "+c.name)
		f(command.ExitOK, "Usage: redline "+c.name, c.name)
		f(command.ExitOK, "Usage: redline "+c.name, c.name, "all")
		for _, row := range c.about().Rows {
			if row.Help != strings.TrimSpace(row.Help) {
				t.Errorf("%s %s: the help text is cut off: %q", c.name, row.Name(), row.Help)
			}
		}
	}
	f(command.ExitOK, "--concurrency-range", "profile")
	f(command.ExitOK, "--trace-rate", "profile", "all")
	f(command.ExitOK, "130  interrupted", "llm", "all")
	f(command.ExitOK, "Usage: redline help", "--help")
	f(command.ExitError, `unknown command "nope"`, "nope")
	f(command.ExitError, "name one command or topic", "profile", "llm")
	for _, topic := range topics() {
		f(command.ExitOK, "  "+topic.name)
		f(command.ExitOK, topic.title, topic.name)
		f(command.ExitOK, "docs/tasks/"+topic.name+".md", topic.name)
	}
	f(command.ExitError, "did you mean 'redline help capacity'?", "capacities")
}

func TestCompletion(t *testing.T) {
	f := func(code int, want string, args ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := Main(&command.IO{Args: append([]string{"redline", "completion"}, args...), Stdout: &out, Stderr: &errs, Width: noTerminal, Getenv: noEnv}); got != code {
			t.Errorf("%v: exit code %d, want %d", args, got, code)
		}
		if text := out.String() + errs.String(); !strings.Contains(text, want) {
			t.Errorf("%v: %q lacks %q", args, text, want)
		}
	}
	f(command.ExitOK, "complete -F _redline redline perf_analyzer", "bash")
	f(command.ExitOK, "#compdef redline perf_analyzer", "zsh")
	f(command.ExitOK, "complete -c redline", "fish")
	for _, shell := range option.Shells() {
		f(command.ExitOK, "compare-builds", shell) // a topic of help
	}
	f(command.ExitOK, "Usage: redline completion", "--help")
	f(command.ExitError, "bash, zsh or fish")
	f(command.ExitError, `there is no completion for "tcsh"`, "tcsh")
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if code := Main(&command.IO{Args: []string{"redline", "--version"}, Stdout: &out}); code != command.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.HasPrefix(out.String(), "redline ") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	if code := Main(&command.IO{Args: []string{"redline", "version", "--json"}, Stdout: &out, Version: "v1.2.3", Commit: "0123"}); code != command.ExitOK {
		t.Errorf("exit code %d", code)
	}
	want := versionReport{Version: "v1.2.3", Commit: "0123", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, ResultSchema: result.Schema}
	var got versionReport
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != want {
		t.Errorf("%s: %+v, want %+v (%v)", out.String(), got, want, err)
	}
}

// TestShortHelp holds that --help of a command with many options is one page: examples first, the most used options, and how
// to get all. --help all has every option and the exit codes.
func TestShortHelp(t *testing.T) {
	for _, c := range described() {
		all, short := c.Help(100), c.Brief(100)
		if len(c.Rows) > 20 && (len(c.Common) < 8 || len(c.Common) > 20 || len(c.Exits) == 0 && c.Name != "serve") {
			t.Errorf("redline %s: %d common options, %d exit codes", c.Name, len(c.Common), len(c.Exits))
		}
		if len(c.Common) == 0 {
			continue
		}
		examples, options := strings.Index(short, "\nExamples\n"), strings.Index(short, "\nMost used options\n")
		if examples < 0 || options < examples || !strings.Contains(short, "'redline "+c.Name+" --help all'") {
			t.Errorf("redline %s --help:\n%s", c.Name, short)
		}
		if n := strings.Count(short, "\n"); n > 80 {
			t.Errorf("redline %s --help has %d lines", c.Name, n)
		}
		for _, r := range c.Rows {
			if r.Instead == "" && !strings.Contains(all, r.Name()) {
				t.Errorf("redline %s --help all lacks %s", c.Name, r.Name())
			}
		}
	}
	f := func(want bool, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if code := Main(&command.IO{Args: append([]string{"redline"}, args...), Stdout: &out, Stderr: &out, Width: noTerminal}); code != command.ExitOK {
			t.Errorf("%v: exit code %d", args, code)
		}
		if got := strings.Contains(out.String(), "\nExit codes\n"); got != want {
			t.Errorf("%v: all options: %v, want %v", args, got, want)
		}
	}
	f(false, "profile", "--help")
	f(true, "profile", "--help", "all")
	f(false, "llm", "-m", "x", "-h")
	f(true, "llm", "-h", "all")
	f(true, "help", "profile", "all")
	f(false, "llm", "--help", "warm-up")
}

// A word shows the options that are about it, and no others: by their names, their headings or what they do.
func TestHelpAboutAWord(t *testing.T) {
	f := func(code int, want, not string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		got := Main(&command.IO{Args: append([]string{"redline"}, args...), Stdout: &out, Stderr: &out, Width: noTerminal, Getenv: noEnv})
		if got != code || !strings.Contains(out.String(), want) || not != "" && strings.Contains(out.String(), not) {
			t.Errorf("%v: exit code %d\n%s", args, got, out.String())
		}
	}
	f(command.ExitOK, "--request-timeout-seconds", "--model", "llm", "--help", "timeout")
	f(command.ExitOK, "--warmup-duration", "--model-names", "help", "llm", "Warm-Up")
	f(command.ExitOK, "--output-tokens-mean", "--report", "llm", "-h", "osl")
	f(command.ExitOK, "--shared-memory", "--report", "profile", "--help", "shared memory")
	f(command.ExitError, "no option is about \"xyzzy\"; 'redline llm --help all' explains all of them", "", "llm", "--help", "xyzzy")
	f(command.ExitOK, "Usage: redline llm", "", "llm", "--help", "--model")
	f(command.ExitError, "name one command or topic", "", "help", "nothing", "xyzzy")
}

// A topic shows the opening of its page: what the reader can do, a command, and an explanation. No topic hides a command.
func TestTopics(t *testing.T) {
	list := topics()
	if len(list) < 7 {
		t.Errorf("%d topics", len(list))
	}
	for _, topic := range list {
		if _, ok := find(topic.name); ok {
			t.Errorf("the topic %s is also a command", topic.name)
		}
		text := topic.text(80)
		if !strings.HasPrefix(topic.opening, "\n"+purpose) || !strings.Contains(text, "\n    redline ") {
			t.Errorf("%s: the opening of the page does not say what the reader can do, or has no command:\n%s", topic.name, text)
		}
		if n := strings.Count(text, "\n"); n > 25 {
			t.Errorf("%s: the short form has %d lines", topic.name, n)
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "    ") && len([]rune(line)) > 81 {
				t.Errorf("%s: too wide: %q", topic.name, line)
			}
			if strings.Contains(line, "](") || !strings.HasPrefix(line, "    ") && strings.Contains(line, "`") {
				t.Errorf("%s: Markdown in the text: %q", topic.name, line)
			}
		}
	}
}

// Every option is explained, and says neither its default nor that it may be repeated twice.
func TestEveryOptionIsExplainedOnce(t *testing.T) {
	for _, c := range described() {
		for _, r := range c.Rows {
			if r.Instead != "" {
				continue
			}
			help := (&option.Command{Rows: []option.Row{r}}).Help(100)
			switch lower := strings.ToLower(help); {
			case r.Help == "":
				t.Errorf("redline %s %s has no explanation", c.Name, r.Name())
			case strings.Count(lower, "may be repeated") > 1, strings.Contains(lower, "(default"), strings.Contains(lower, "default is"), strings.Contains(lower, "default:"):
				t.Errorf("redline %s %s says something twice:\n%s", c.Name, r.Name(), help)
			}
		}
	}
}
