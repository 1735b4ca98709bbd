package cli

import (
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/redline-bench/redline/docs/tasks"
	"github.com/redline-bench/redline/internal/option"
)

// topic is a task page of docs/tasks: its name, its title, and the part before its first section.
type topic struct{ name, title, opening string }

// topics returns all task pages, sorted by name.
func topics() []topic {
	names, err := fs.Glob(tasks.Pages, "*.md")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var list []topic
	for _, name := range names {
		text, err := fs.ReadFile(tasks.Pages, name)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		list = append(list, newTopic(strings.TrimSuffix(path.Base(name), ".md"), string(text)))
	}
	return list
}

// newTopic takes a page apart.
func newTopic(name, page string) topic {
	title, rest, _ := strings.Cut(strings.TrimPrefix(page, "# "), "\n")
	opening, _, _ := strings.Cut(rest, "\n## ")
	return topic{name, title, opening}
}

// findTopic returns the topic of that name.
func findTopic(name string) (topic, bool) {
	for _, t := range topics() {
		if t.name == name {
			return t, true
		}
	}
	return topic{}, false
}

// purpose begins the first paragraph of a page.
const purpose = "After reading this page you "

var (
	// aboutTests is a comment about the tests of the manual.
	aboutTests   = regexp.MustCompile(`(?m)^    # not run by the tests: .*\n`)
	markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	codeSpan     = regexp.MustCompile("`([^`]*)`")
)

// text is the short form of the page for a terminal of the given width: paragraphs are folded, commands stay as they are.
func (t topic) text(width int) string {
	var b strings.Builder
	b.WriteString(t.title + "\n")
	for block := range strings.SplitSeq(strings.TrimSpace(t.opening), "\n\n") {
		if strings.HasPrefix(block, purpose) { // the title says it
			continue
		}
		if strings.HasPrefix(block, "    ") {
			b.WriteString("\n" + strings.TrimRight(aboutTests.ReplaceAllString(block, ""), "\n") + "\n")
			continue
		}
		plain := markdownLink.ReplaceAllString(block, "$1")
		plain = codeSpan.ReplaceAllStringFunc(plain, func(code string) string { return quoted(strings.Trim(code, "`")) })
		b.WriteString("\n" + strings.Join(option.Fold(plain, option.TextWidth(width)), "\n") + "\n")
	}
	b.WriteString("\nThe whole page is docs/tasks/" + t.name + ".md.\n")
	return b.String()
}

// quoted puts quotes around code of several words; a single word is clear without them.
func quoted(code string) string {
	if strings.Contains(code, " ") {
		return "'" + code + "'"
	}
	return code
}
