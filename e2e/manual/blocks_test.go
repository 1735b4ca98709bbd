//go:build unix

package manual

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// block is a code block of a page that is a shell script.
type block struct {
	line   int    // its first line in the page, from 1
	script string // without the indentation and the output of its commands
	reason string // why the block is not run, from the comment that says so; empty for a block that is run
}

// The comment that excludes a block, and the sentence that excludes a page, for the reader to see.
var (
	notRun     = regexp.MustCompile(`(?m)# not run by the tests: (.+)$`)
	pageNotRun = regexp.MustCompile(`The commands of this page are not run by the tests: ([^.]+)\.`)
)

// shellWord begins a line that makes a block a shell script. Blocks of other languages, and outputs, begin otherwise.
var shellWord = regexp.MustCompile(`^(\$ |# not run by the tests: |([A-Z_]+=\S+ +)?(bin/)?(redline|redline-native|perf_analyzer|make|go|pip|python3|podman|docker|kubectl|helm|tar|cat|mpiexec|export [A-Z_]+=.*|git|source|curl) )`)

const firstRun = "docs/start/first-run.md"

// pages are the documents whose commands are run, by their paths from the root: README and the manual, without notes of single
// measurements, decisions and generated lists. e2e/start follows the page of the first run, in an empty user account.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(binary.Root(), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			name, err := filepath.Rel(binary.Root(), path)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, filepath.ToSlash(name))
		}
	}
	return slices.DeleteFunc(list, func(name string) bool {
		return name == firstRun || strings.HasPrefix(name, "docs/lab/") || strings.HasPrefix(name, "docs/adr/") || name == "docs/flags.md"
	})
}

// blocks are the shell scripts of a page, in order.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	text := read(t, page)
	var list []block
	for _, c := range codeBlocks(text) {
		b, ok := shellBlock(c)
		if !ok {
			continue
		}
		if m := pageNotRun.FindStringSubmatch(text); m != nil {
			b.reason = m[1]
		}
		list = append(list, b)
	}
	return list
}

// read returns the text of a page.
func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(binary.Root(), filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// code is a code block of Markdown, indented or fenced.
type code struct {
	line  int
	lines []string
}

// codeBlocks finds the code blocks of a page. An indented block follows an empty line and is indented by four spaces; a fenced block
// stands between lines of three backticks.
func codeBlocks(text string) []code {
	var list []code
	var open *code
	fenced, afterEmpty := false, true
	end := func() {
		if open == nil {
			return
		}
		for n := len(open.lines); n > 1 && open.lines[n-1] == ""; n = len(open.lines) {
			open.lines = open.lines[:n-1]
		}
		list, open = append(list, *open), nil
	}
	for i, line := range strings.Split(text, "\n") {
		indented := strings.HasPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```"):
			end()
			if fenced = !fenced; fenced {
				open = &code{line: i + 2}
			}
		case fenced:
			open.lines = append(open.lines, line)
		case indented && (open != nil || afterEmpty):
			if open == nil {
				open = &code{line: i + 1}
			}
			open.lines = append(open.lines, line[4:])
		case line == "" && open != nil:
			open.lines = append(open.lines, "")
		default:
			end()
		}
		afterEmpty = line == ""
	}
	end()
	return list
}

// fileName is the first line of a block that shows a whole file.
var fileName = regexp.MustCompile(`^# (\S+\.yaml)$`)

// shellBlock returns the script of a code block, or a script that writes the file which the block shows. In a block whose commands
// begin with "$ ", all other lines are output; a command whose output is an error of redline must fail.
func shellBlock(c code) (block, bool) {
	if m := fileName.FindStringSubmatch(c.lines[0]); m != nil {
		return block{line: c.line, script: "cat > " + m[1] + " <<'END'\n" + strings.Join(c.lines, "\n") + "\nEND\n"}, true
	}
	if !shellWord.MatchString(c.lines[0] + " ") {
		return block{}, false
	}
	lines := c.lines
	if strings.HasPrefix(lines[0], "$ ") {
		lines = console(c.lines)
	}
	b := block{line: c.line, script: strings.Join(lines, "\n") + "\n"}
	if m := notRun.FindStringSubmatch(b.script); m != nil {
		b.reason = m[1]
	}
	return b, true
}

// console returns the commands of a block with output.
func console(shown []string) []string {
	var commands []string
	more := false
	for _, line := range shown {
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case ok || more:
			commands = append(commands, command)
			more = strings.HasSuffix(line, `\`)
		case errorLine.MatchString(line) && len(commands) > 0:
			last := len(commands) - 1
			commands[last] = "if " + commands[last] + "; then echo 'the command does not fail'; exit 1; fi"
		}
	}
	return commands
}

// errorLine is the line that a failed command prints.
var errorLine = regexp.MustCompile(`^redline [a-z-]+: `)

// missed is a command at the start of a line.
var missed = regexp.MustCompile(`^\s{0,2}(bin/)?(redline|perf_analyzer) [a-z-]+( |$)`)

// No command stands in a block that is not run, such as one whose first line is a comment.
func TestEveryCommandIsFound(t *testing.T) {
	for _, page := range pages(t) {
		for _, c := range codeBlocks(read(t, page)) {
			if _, ok := shellBlock(c); ok {
				continue
			}
			for i, line := range c.lines {
				if missed.MatchString(line) {
					t.Errorf("%s:%d: %q is in a block that is not taken for a script: begin the block with a command", page, c.line+i, line)
				}
			}
		}
	}
}

func TestBlocks(t *testing.T) {
	f := func(page string, want ...block) {
		t.Helper()
		var got []block
		for _, c := range codeBlocks(page) {
			if b, ok := shellBlock(c); ok {
				got = append(got, b)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", page, got, want)
		}
	}
	f("Text\n\n    redline a \\\n      b\n    redline c   # why\n\nText\n", block{line: 3, script: "redline a \\\n  b\nredline c   # why\n"})
	f("Text\n\n    $ redline a\n    output\n    redline: output\n    $ redline b\n", block{line: 3, script: "redline a\nredline b\n"})
	f("    $ redline a\n    redline a: no server\n", block{line: 1, script: "if redline a; then echo 'the command does not fail'; exit 1; fi\n"})
	f("    # run.yaml\n    key: 1\n", block{line: 1, script: "cat > run.yaml <<'END'\n# run.yaml\nkey: 1\nEND\n"})
	f("- a list\n    redline a\n")
	f("    {\"json\": 1}\n\n```sh\nmake test\n```\n", block{line: 4, script: "make test\n"})
	f("    # not run by the tests: needs a GPU\n    redline a\n", block{line: 1, script: "# not run by the tests: needs a GPU\nredline a\n", reason: "needs a GPU"})
	f("    key: value\n    redline: text\n")
}
