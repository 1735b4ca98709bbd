package redline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// docs/compat.md has a row for each flag, and all of them work.
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
		if !strings.Contains(line, "| works |") {
			t.Errorf("%s says %q of an option that works", page, line)
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
