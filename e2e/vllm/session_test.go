package vllm

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// sessionPage is the page whose session is followed.
const sessionPage = "docs/start/openai.md"

// session runs the commands of the page's session word for word but for the address, and looks for the lines that it shows, in their order.
// Numbers differ from run to run, and so does what is said of the client's health and of the whole run.
func session(t *testing.T, addr string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(tokenizerDir(t), filepath.Join(dir, "Qwen2.5")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(binary.Root(), filepath.FromSlash(sessionPage)))
	if err != nil {
		t.Fatal(err)
	}
	const usual = "localhost:8000"
	steps := strings.Split(string(text), "\n    $ ")[1:]
	if len(steps) < 3 {
		t.Fatalf("%s has %d commands", sessionPage, len(steps))
	}
	for _, step := range steps {
		line, shown, _ := strings.Cut(step, "\n")
		cmd := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(line, usual, addr))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, errs, code := binary.Output(t, cmd)
		if code != 0 {
			t.Errorf("%s: ended with %d\n%s%s", line, code, out, errs)
			continue
		}
		printed := shapes(strings.ReplaceAll(out, addr, usual))
		for _, want := range shapes(output(shown)) {
			n := 0
			for n < len(printed) && printed[n] != want {
				n++
			}
			if n == len(printed) {
				t.Errorf("%s: does not print %q where %s shows it\n%s", line, want, sessionPage, out)
				break
			}
			printed = printed[n+1:]
		}
	}
}

// output are the lines of a page that a command prints: those of its code block.
func output(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if shown, ok := strings.CutPrefix(line, "    "); ok {
			b.WriteString(shown)
		} else if strings.TrimSpace(line) != "" {
			break
		}
	}
	return b.String()
}

// number is what differs between two runs: a number, a hash, or what stands for a number.
var number = regexp.MustCompile(`[0-9a-f]{32}|[0-9][0-9,.]*|–`)

// gap is what parts the columns of a table.
var gap = regexp.MustCompile(`\s{2,}`)

// shapes are the lines without what differs between runs: numbers, the columns of tables, the client's health.
func shapes(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		health := strings.HasPrefix(line, "    ")
		line = strings.TrimSpace(line)
		if health || line == "" || line == "..." {
			continue
		}
		if strings.HasPrefix(line, "Verdict:") {
			line = "Verdict:"
		}
		list = append(list, number.ReplaceAllString(gap.Split(line, 2)[0], "#"))
	}
	return list
}
