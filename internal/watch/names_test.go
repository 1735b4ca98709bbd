package watch

import (
	"os"
	"strings"
	"testing"
)

// docs/telemetry.md names every quantity with its unit and every metric of the table.
func TestDocumentedNames(t *testing.T) {
	text, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && strings.HasPrefix(line, "| `") {
			rows[name] = rest
		}
	}
	for _, q := range quantities {
		row := rows[q.name]
		if !strings.HasPrefix(row, q.unit+" |") {
			t.Errorf("docs/telemetry.md has no row for %s in %s", q.name, q.unit)
		}
		for _, s := range q.sources {
			for _, name := range append([]string{s.metric}, s.per...) {
				if !strings.Contains(row, "`"+name+"`") {
					t.Errorf("docs/telemetry.md: the row of %s lacks %s", q.name, name)
				}
			}
		}
	}
}
