package redline_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

//go:generate go test -run ^TestCompatPageIsTrue$ . -update

var update = flag.Bool("update", false, "write the states of flags into docs/compat.md")

// docs/compat.md says of each flag whether it works; the table of options knows.
func TestCompatPageIsTrue(t *testing.T) {
	const page = "docs/compat.md"
	text := read(t, page)
	for _, row := range flags.Rows(plan.Redline) {
		name := row.Name()
		line := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "`.*$").FindString(text)
		if line == "" {
			t.Errorf("%s has no row for %s", page, name)
			continue
		}
		if row.Face == flags.RedlineOnly || name == "--help" {
			continue
		}
		if works := strings.Contains(line, "| works |"); works == row.Ready {
			continue
		}
		if !*update {
			t.Errorf("%s says %q, but ready is %t: run make generate", page, line, row.Ready)
			continue
		}
		state := map[bool]string{true: "| works |", false: "| not yet |"}
		text = strings.Replace(text, line, strings.Replace(line, state[!row.Ready], state[row.Ready], 1), 1)
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)\)`)

// Every link between documents leads somewhere.
func TestDocLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	tops, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, tops...) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(read(t, "README.md"), "\n"); n >= 150 {
		t.Errorf("README.md has %d lines; the manual is in docs/", n)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
