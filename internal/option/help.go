package option

import (
	"fmt"
	"slices"
	"strings"
)

// Command describes a command for help, completion and docs/flags.md.
type Command struct {
	Name    string
	Summary string // a phrase for the list of commands
	// Intro is the part of the help before the options: how the command is called and what it does.
	Intro string
	Rows  []Row
	// Outro is the part of the help after the options, such as examples.
	Outro string
	// Words are what may follow the name besides options.
	Words []string
}

// The help has names up to a column, and lines that are no wider than this.
const column, narrowest, widest = 32, 72, 118

// Help explains the command, for a terminal of the given width.
func (c *Command) Help(width int) string {
	width = min(max(width, narrowest), widest)
	var b strings.Builder
	b.WriteString(c.Intro)
	for _, group := range c.groups() {
		fmt.Fprintf(&b, "\n%s\n", group[0].Group)
		for i := range group {
			group[i].help(&b, width)
		}
	}
	if c.Outro != "" {
		b.WriteString("\n" + c.Outro)
	}
	return b.String()
}

// groups are the visible rows by their heading.
func (c *Command) groups() [][]Row {
	var list [][]Row
	for _, r := range visible(c.Rows) {
		i := slices.IndexFunc(list, func(g []Row) bool { return g[0].Group == r.Group })
		if i < 0 {
			i, list = len(list), append(list, nil)
		}
		list[i] = append(list[i], r)
	}
	return list
}

// help writes one option: its names on the left, what it does on the right.
func (r *Row) help(b *strings.Builder, width int) {
	left := "  " + r.forms()
	if len(left) > column-2 {
		b.WriteString(left + "\n")
		left = ""
	}
	text := r.explain()
	if d := r.defaultText(); d != "" {
		text = strings.TrimSpace(text + " (" + d + ")")
	}
	for _, line := range fold(text, width-column) {
		if left+line != "" {
			b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", column, left, line), " ") + "\n")
		}
		left = ""
	}
}

// forms is how the option is written, with long names below each other: "-p, --measurement-interval N".
func (r *Row) forms() string {
	var s string
	switch {
	case r.Long == "":
		s = "-" + string(r.Short)
	case r.Short == 0:
		s = "    --" + r.Long
	default:
		s = "-" + string(r.Short) + ", --" + r.Long
	}
	if r.Arg != "" {
		s += " " + r.Arg
	}
	return s
}

// explain is the help with the option's other names, its unit, and whether it may be repeated.
func (r *Row) explain() string {
	var parts []string
	if r.Help != "" {
		parts = append(parts, r.Help)
	}
	if r.Unit != "" && r.defaultText() == "" {
		parts = append(parts, "in "+r.Unit)
	}
	if r.Also != "" {
		parts = append(parts, "also --"+strings.Join(strings.Fields(r.Also), ", --"))
	}
	if r.Repeat {
		parts = append(parts, "may be repeated")
	}
	return strings.Join(parts, "; ")
}

// fold breaks a text into lines between words.
func fold(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Markdown is the page of all options of all commands, docs/flags.md.
func Markdown(commands []Command) string {
	var b strings.Builder
	b.WriteString(`# Options

<!-- Generated from the option tables by "make generate". Do not edit. -->

This page lists the options of every command. ` + "`redline profile`" + ` and the program under the name ` + "`perf_analyzer`" + ` share a table;
options marked *redline* exist only in ` + "`redline profile`" + `. A long option may be abbreviated if the abbreviation is unique.
A time or a size may have a unit (250ms, 5s, 2m, 64KiB, 32MB); a bare number has the unit that the option names.
`)
	for i := range commands {
		c := &commands[i]
		fmt.Fprintf(&b, "\n## redline %s\n", c.Name)
		if len(c.Words) > 0 {
			fmt.Fprintf(&b, "\nArguments: `%s`\n", strings.Join(c.Words, "`, `"))
		}
		if len(c.Rows) == 0 {
			b.WriteString("\nNo options of its own.\n")
		}
		for _, group := range c.groups() {
			fmt.Fprintf(&b, "\n### %s\n\n| option | default | meaning |\n|---|---|---|\n", group[0].Group)
			for i := range group {
				group[i].markdown(&b)
			}
		}
	}
	return b.String()
}

// markdown writes one option as a row of a table.
func (r *Row) markdown(b *strings.Builder) {
	names := r.Names()
	if r.Arg != "" {
		names[0] += " " + r.Arg
	}
	what := r.explain()
	if r.RedlineOnly {
		what += " *redline*"
	}
	cell := strings.NewReplacer("|", `\|`)
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", cell.Replace(strings.Join(names, "`, `")), cell.Replace(r.defaultText()), cell.Replace(what))
}
