package redline_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// docs/compat.md has a row for each flag and says that it works.
func TestCompatPageIsTrue(t *testing.T) {
	const page = "docs/compat.md"
	text := read(t, page)
	for _, row := range flags.Rows(flags.Redline) {
		if row.Instead != "" { // an option of another tool, which the command does not have
			continue
		}
		name := row.Name()
		line := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "`.*$").FindString(text)
		if line == "" {
			t.Errorf("%s has no row for %s", page, name)
			continue
		}
		if row.RedlineOnly || name == "--help" {
			continue
		}
		if !strings.Contains(line, "| works |") {
			t.Errorf("%s says %q about an option that works", page, line)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors are the names of the headings of a page, as code hosts and the site form them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		plain := link.ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(dropped.ReplaceAllString(plain, ""), " ", "-")] = true
	}
	return found
}

// Every link between documents names a file that exists, and a heading that it has.
func TestDocLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	tops, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	notes, err := filepath.Glob("docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range slices.Concat(pages, tops, notes) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if m[2] != "" && !anchors(read(t, target))[m[2]] {
				t.Errorf("%s: %s has no heading #%s", page, target, m[2])
			}
		}
	}
}

var namedTest = regexp.MustCompile("`([a-z0-9/]+)\\.(Test\\w+|Fuzz\\w+)(?:/([^`]+))?`|script `(\\w+)`")

// docs/reliability.md names tests that exist. A case of a test must be named in its package.
func TestReliabilityPageIsTrue(t *testing.T) {
	const page = "docs/reliability.md"
	named := namedTest.FindAllStringSubmatch(read(t, page), -1)
	if len(named) == 0 {
		t.Fatalf("%s names no test", page)
	}
	for _, m := range named {
		folder, test, part, script := m[1], m[2], m[3], m[4]
		if script != "" {
			if _, err := os.Stat("e2e/testdata/script/" + script + ".txtar"); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			continue
		}
		files, err := filepath.Glob(folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range files {
			text.WriteString(read(t, f))
		}
		status, isStatus := strings.CutPrefix(part, "status ")
		switch all := text.String(); {
		case !strings.Contains(all, "\nfunc "+test+"("):
			t.Errorf("%s names %s.%s, which does not exist", page, folder, test)
		case isStatus && !strings.Contains(all, `status("`+status+`"`), !isStatus && part != "" && !strings.Contains(all, `"`+part+`"`):
			t.Errorf("%s names %s.%s/%s, and there is no such case", page, folder, test, part)
		}
	}
}

// docs/troubleshooting.md quotes messages that the tests have seen.
func TestTroubleshootingQuotes(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/troubleshooting.md"), "\n## The run does not start\n")
	section, _, _ = strings.Cut(section, "\n## ")
	tests := read(t, "e2e/testdata/script/troubleshooting.txtar") + read(t, "internal/llm/load/load_test.go") + read(t, "e2e/kserve/kserve_test.go")
	tests = strings.NewReplacer("\\?", "?", "''", "'").Replace(tests)
	for line := range strings.SplitSeq(section, "\n") {
		symptom, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for i, quote := range strings.Split(symptom, "`") {
			if i%2 == 0 || !strings.Contains(quote, " ") {
				continue
			}
			for part := range strings.SplitSeq(quote, "…") {
				if part = strings.TrimSuffix(strings.TrimSpace(part), ":"); !strings.Contains(tests, part) {
					t.Errorf("no test has seen %q of the quoted message %q", part, quote)
				}
			}
		}
	}
}

// The lists of lab notes and decisions name every page of their folders.
func TestListsOfPages(t *testing.T) {
	for _, folder := range []string{"docs/lab", "docs/adr"} {
		list := read(t, folder+"/README.md")
		pages, err := filepath.Glob(folder + "/*.md")
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			if name := filepath.Base(page); name != "README.md" && !strings.Contains(list, "]("+name+")") {
				t.Errorf("%s/README.md does not list %s", folder, name)
			}
		}
	}
}

// Every picture of the manual is named in a script or program that makes it.
func TestPicturesAreMade(t *testing.T) {
	pictures, err := filepath.Glob("docs/img/*")
	if err != nil || len(pictures) == 0 {
		t.Fatal(pictures, err)
	}
	var makers strings.Builder
	for _, pattern := range []string{"scripts/*", "bench/*.go", "e2e/browser/pictures/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			makers.WriteString(read(t, f))
		}
	}
	for _, p := range pictures {
		name := filepath.Base(p)
		png, _ := strings.CutSuffix(name, ".png") // scripts/pictures.sh names a picture of a page NAME:WIDTH:SCHEME
		if !strings.Contains(makers.String(), name) && !strings.Contains(makers.String(), " "+png+":") {
			t.Errorf("no script makes %s", p)
		}
	}
}

// The run that README.md names for its picture is the run that the picture is made of.
func TestReadmeNamesTheRunOfItsPicture(t *testing.T) {
	before, _, ok := strings.Cut(read(t, "README.md"), "(docs/img/report.png)")
	_, line, ok2 := strings.Cut(read(t, "scripts/pictures.sh"), "measure report ")
	if !ok || !ok2 {
		t.Fatal("README.md or scripts/pictures.sh has no report.png")
	}
	line, _, _ = strings.Cut(line, "\n")
	run := "`redline " + strings.ReplaceAll(line, ` -u "$grpc"`, "") + "` on a server that takes 20 ms for each request"
	if !strings.Contains(before[strings.LastIndex(before, "\n\n## "):], run) {
		t.Errorf("README.md does not name the run of its picture: %s", run)
	}
	if !strings.Contains(read(t, "scripts/pictures.sh"), "--delay simple=20ms") {
		t.Error("the server of the picture does not take 20 ms")
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
