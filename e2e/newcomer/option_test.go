// Package newcomer makes the changes that CONTRIBUTING.md describes, in the places that it names, and shows that nothing else
// is needed.
package newcomer

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// The program is built once, with an option and a load loop more than it has.
func TestNewcomersChanges(t *testing.T) {
	dir := t.TempDir()
	option := addOption(t)
	changed := maps.Clone(option)
	maps.Copy(changed, addLoop(t))
	if err := binary.Compile(dir, changed); err != nil {
		t.Fatal(err)
	}
	redline := filepath.Join(dir, "redline")
	t.Run("an option is one field and one row", func(t *testing.T) { checkOption(t, redline, option) })
	t.Run("a load loop is one file, one field of the plan and one case", func(t *testing.T) { checkLoop(t, redline) })
}

// The lines of CONTRIBUTING.md that add an option to redline llm.
var (
	field = regexp.MustCompile("(?m)^ {4}(TenantKey string .*)$")
	row   = regexp.MustCompile(`(?m)^ {4}(\{Long: "tenant-key", .*\},)$`)
)

// One field and one row give redline llm an option: help, completion, docs/flags.md, parsing, redaction, the plan in results and
// redline rerun know it.
func checkOption(t *testing.T, redline string, changed map[string][]byte) {
	dir := t.TempDir()
	f := func(want string, args ...string) {
		t.Helper()
		if out, ok := run(t, redline, args...); !ok || !strings.Contains(out, want) {
			t.Errorf("redline %v lacks %q:\n%s", args, want, out)
		}
	}
	f("--tenant-key KEY", "llm", "--help", "all")
	for _, shell := range []string{"bash", "zsh", "fish"} {
		f("tenant-key", "completion", shell)
	}
	overlay, err := binary.Overlay(dir, changed)
	if err != nil {
		t.Fatal(err)
	}
	if out, ok := run(t, "go", "test", "-trimpath", "-tags", binary.Tags, "-vet=off", "-overlay", overlay, "-run", "^TestReference$", "./internal/cli"); ok || !strings.Contains(out, "`--tenant-key KEY`") {
		t.Errorf("docs/flags.md is not said to lack the option:\n%s", out)
	}

	load := []string{"llm", "-m", "mock-llm", "--embedded", "--request-count", "1", "--output-tokens-mean", "2", "--no-history", "--artifact-dir"}
	f("", append(load, filepath.Join(dir, "without"))...)
	result := filepath.Join(dir, "result.json")
	f("", append(load, filepath.Join(dir, "with"), "--tenant-key", "HUSHHUSH", "--json", result)...)
	if text := files(t, filepath.Join(dir, "without")); strings.Contains(text, "--tenant-key") {
		t.Error("the option is noted though it was not given")
	}
	if text := files(t, filepath.Join(dir, "with")); !strings.Contains(text, "--tenant-key '***'") || strings.Contains(text, "HUSHHUSH") {
		t.Error("the option is not noted as given, or its secret is in a file")
	}
	if text := string(read(t, result)); !strings.Contains(text, `"tenant_key": "***"`) {
		t.Error("the plan of the result lacks the option")
	}
	if out, ok := run(t, redline, "rerun", result, "--no-history"); ok || !strings.Contains(out, "the result keeps no secrets: give --tenant-key=*** again") {
		t.Errorf("the run is repeated without its secret:\n%s", out)
	}
	f("", "rerun", result, "--tenant-key", "HUSHHUSH", "--no-history")
}

// addOption returns the source files, by their paths in the repository, in which the option is there.
func addOption(t *testing.T) map[string][]byte {
	t.Helper()
	const plan, options = "internal/command/llm/plan.go", "internal/command/llm/options.go"
	guide := read(t, filepath.Join(binary.Root(), "CONTRIBUTING.md"))
	changed := map[string][]byte{}
	for _, c := range []struct {
		file, place string
		line        *regexp.Regexp
	}{{plan, "type Plan struct {\n", field}, {options, "option.Group(\"Server\", []option.Row{\n", row}} {
		text, found := read(t, filepath.Join(binary.Root(), c.file)), c.line.FindSubmatch(guide)
		if found == nil || bytes.Count(text, []byte(c.place)) != 1 {
			t.Fatalf("CONTRIBUTING.md lacks %s, or %s has not one %q", c.line, c.file, c.place)
		}
		changed[c.file] = bytes.Replace(text, []byte(c.place), slices.Concat([]byte(c.place), found[1], []byte("\n")), 1)
	}
	return changed
}

// run runs a program in the root of the repository. It returns what it prints and whether it succeeds.
func run(t *testing.T, name string, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = binary.Root(), append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

// files returns the contents of all files below a folder.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all.Write(read(t, path))
		}
		return err
	})
	if err != nil || all.Len() == 0 {
		t.Fatalf("%s: %d bytes, %v", dir, all.Len(), err)
	}
	return all.String()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
