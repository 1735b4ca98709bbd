//go:generate go test -vet=off -run ^TestReference$ . -update

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/testkit/generated"
)

// TestReference holds docs/flags.md to the option tables of all commands.
func TestReference(t *testing.T) {
	generated.File(t, "../../docs/flags.md", markdown(described()), "make generate")
}

// markdown is the page of all options of all commands, docs/flags.md.
func markdown(commands []option.Command) string {
	var b strings.Builder
	b.WriteString(`# Options

<!-- Generated from the option tables by "make generate". Do not edit. -->

This page lists the options of every command. ` + "`redline profile`" + ` and the program under the name ` + "`perf_analyzer`" + ` share a table;
options marked *redline* exist only in ` + "`redline profile`" + `. A long option may be abbreviated if the abbreviation is unique.
A time or a size may have a unit (250ms, 5s, 2m, 64KiB, 32MB); the option says which unit a bare number has.
`)
	for i := range commands {
		c := &commands[i]
		fmt.Fprintf(&b, "\n## redline %s\n", c.Name)
		if c.Summary != "" {
			fmt.Fprintf(&b, "\n%s\n", sentence(c.Summary))
		}
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "\nArguments: `%s`\n", strings.Join(c.Words, "`, `"))
		}
		if len(c.Rows) == 0 {
			b.WriteString("\nThis command has no options besides `--help`.\n")
		}
		for _, group := range c.Groups() {
			fmt.Fprintf(&b, "\n### %s\n\n| option | default | meaning |\n|---|---|---|\n", group[0].Group)
			for i := range group {
				optionRow(&b, &group[i])
			}
		}
		if len(c.Exits) > 0 {
			b.WriteString("\n### Exit codes\n\n| code | meaning |\n|--:|---|\n")
		}
		for _, e := range c.Exits {
			fmt.Fprintf(&b, "| %d | %s |\n", e.Code, e.Meaning)
		}
	}
	return b.String()
}

// sentence makes a sentence of a phrase.
func sentence(phrase string) string { return strings.ToUpper(phrase[:1]) + phrase[1:] + "." }

// optionRow writes one option as a row of a table.
func optionRow(b *strings.Builder, r *option.Row) {
	names := r.Names()
	if r.Arg != "" {
		names[0] += " " + r.Arg
	}
	what := r.Meaning()
	if r.RedlineOnly {
		what += " *redline*"
	}
	cell := strings.NewReplacer("|", `\|`)
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", cell.Replace(strings.Join(names, "`, `")), cell.Replace(r.DefaultText()), cell.Replace(what))
}
