package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestRows holds the option tables of all commands to their rules.
func TestRows(t *testing.T) {
	for _, c := range described() {
		seen := map[string]bool{}
		for _, r := range c.Rows {
			for _, name := range r.Names() {
				if seen[name] {
					t.Errorf("redline %s: %s stands in two rows", c.Name, name)
				}
				seen[name] = true
			}
			if r.Instead != "" {
				continue
			}
			name := "redline " + c.Name + " " + r.Name()
			if strings.HasSuffix(r.Help, ".") || strings.Contains(r.Help, "be repeated") {
				t.Errorf("%s: help is a phrase, and Repeat says whether it may be repeated: %q", name, r.Help)
			}
			if r.Help == "" || strings.Contains(r.Help, "default") && r.Default+r.To.Default != "" {
				t.Errorf("%s: the help is empty, or has a default besides the field for it: %q", name, r.Help)
			}
			if word := regexp.MustCompile(`(?i)\b(seed tool|that tool|issue|helper|nobody)\b`).FindString(r.Help); word != "" {
				t.Errorf("%s: the help says %q", name, word)
			}
			if r.Group == "" || r.To.Set == nil {
				t.Errorf("%s has no group or sets nothing", name)
			}
			if r.Arg == "" && (r.Default != "" || r.Unit != "" || r.To.Default != "" || len(r.To.Words) > 0) {
				t.Errorf("%s takes no value, yet has a default, a unit or words", name)
			}
		}
	}
}
