package gate

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report/markdown"
	"github.com/redline-bench/redline/internal/result"
)

// columns of the table of levels. Columns that no level has are omitted.
var columns = []struct{ title, name string }{
	{"throughput", "throughput"},
	{"avg", "avg"},
	{"p50", "p50"},
	{"p90", "p90"},
	{"p99", "p99"},
	{"p99.9", "p99.9"},
	{"TTFT p50", "ttft.p50"},
	{"TTFT p99", "ttft.p99"},
	{"ITL avg", "itl.avg"},
	{"tokens", "output_token_throughput"},
	{"failed", "error_rate"},
	{"server queue", "server.queue"},
	{"server compute", "server.compute"},
}

// WriteMarkdown writes a summary for a CI page: the verdict, the findings and a row per level.
func WriteMarkdown(w io.Writer, title string, res *result.Result, g *Gate) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n**Verdict: %s**", markdown.Cell(title), markdown.Cell(string(res.Verdict.State)))
	for _, r := range res.Verdict.Reasons {
		fmt.Fprintf(&b, "  \n%s", markdown.Cell(r.What))
		if r.Try != "" {
			fmt.Fprintf(&b, "; %s", markdown.Cell(r.Try))
		}
	}
	b.WriteString("\n\n")
	if res.Error != "" {
		fmt.Fprintf(&b, "The run ended early: %s\n\n", markdown.Cell(res.Error))
	}
	if len(g.Findings) > 0 {
		b.WriteString("| | rule | level | found |\n|---|---|---|---|\n")
		for _, f := range g.Findings {
			mark := "❌"
			switch {
			case f.OK:
				mark = "✅"
			case f.Unknown:
				mark = "❔"
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", mark, markdown.Code(f.Rule), markdown.Cell(f.Level), markdown.Cell(f.Text))
		}
		b.WriteByte('\n')
	}
	levelTable(&b, res.Levels)
	_, err := io.WriteString(w, b.String())
	return err
}

func levelTable(b *strings.Builder, levels []result.Level) {
	if len(levels) == 0 {
		return
	}
	var kept []int
	for i, c := range columns {
		for j := range levels {
			if _, ok := levels[j].Read(c.name); ok {
				kept = append(kept, i)
				break
			}
		}
	}
	b.WriteString("| level |")
	for _, i := range kept {
		fmt.Fprintf(b, " %s |", columns[i].title)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(kept)) + "\n")
	for j := range levels {
		fmt.Fprintf(b, "| %s |", measure.LevelName(&levels[j]))
		for _, i := range kept {
			text := ""
			if r, ok := levels[j].Read(columns[i].name); ok {
				if text = Figure(r); r.Needs > 0 || r.Unit == "ms" && levels[j].Client.Requests == 0 {
					text = "–"
				}
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}
