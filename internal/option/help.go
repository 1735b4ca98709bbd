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
	// Examples are command lines, each with an indented explanation below it.
	Examples string
	// Common names the most used options, which the short help lists: long names, or the letter of an option without one.
	Common []string
	Rows   []Row
	// Outro is the part of the help after the options.
	Outro string
	Exits []Exit
	// Words are what may follow the name besides options.
	Words []string

	title string // of the options
}

// Exit is an exit code of a command and what it means.
type Exit struct {
	Code    int
	Meaning string
}

// The help has names up to a column, and lines that are no wider than this.
const column, narrowest, widest = 32, 72, 118

// few is the number of options up to which the short help lists all.
const few = 20

// flat is the number of most used options up to which the short help has no headings for them.
const flat = 12

// Brief is the short help: examples and the most used options, under their headings if they are many. It is the whole help if the command
// has few options.
func (c *Command) Brief(width int) string {
	all := visible(c.Rows)
	if len(all) <= few || len(c.Common) == 0 {
		return c.Help(width)
	}
	var common []Row
	for _, name := range c.Common {
		r := all[slices.IndexFunc(all, func(r Row) bool { return r.called(name) })]
		r.Help, _, _ = strings.Cut(r.Help, "; ")
		if len(c.Common) <= flat {
			r.Group = ""
		}
		common = append(common, r)
	}
	exits := ""
	if len(c.Exits) > 0 {
		exits = " and the exit codes"
	}
	short := Command{Intro: c.Intro, Examples: c.Examples, Rows: common, title: "Most used options"}
	return short.Help(width) + fmt.Sprintf("\n'redline %[1]s --help all' explains all %[2]d options%[3]s,\n'redline %[1]s --help WORD' those about a word, such as timeout.\n", c.Name, len(all), exits)
}

// About is help for the options that are about a word: it stands in a name, the heading or the help of each. It is empty if there are none.
func (c *Command) About(word string, width int) string {
	plain := func(text string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(text))
	}
	found := Command{Rows: slices.DeleteFunc(visible(c.Rows), func(r Row) bool {
		return !strings.Contains(plain(strings.Join(r.Names(), " ")+"\n"+r.Group+"\n"+r.Meaning()), plain(word))
	})}
	if len(found.Rows) == 0 {
		return ""
	}
	return strings.TrimPrefix(found.Help(width), "\n")
}

// Help is the whole help of the command, for a terminal of the given width.
func (c *Command) Help(width int) string {
	width = TextWidth(width)
	var b strings.Builder
	b.WriteString(c.Intro)
	if c.Examples != "" {
		b.WriteString("\nExamples\n" + c.Examples)
	}
	if c.title != "" {
		b.WriteString("\n" + c.title + "\n")
	}
	for _, group := range c.Groups() {
		if title := group[0].Group; title != "" {
			fmt.Fprintf(&b, "\n%s\n", title)
		}
		for i := range group {
			group[i].help(&b, width)
		}
	}
	b.WriteString(c.closing(width))
	return b.String()
}

// closing is the part of the help after the options: notes and exit codes.
func (c *Command) closing(width int) string {
	var b strings.Builder
	if c.Outro != "" {
		b.WriteString("\n" + c.Outro)
	}
	if len(c.Exits) > 0 {
		b.WriteString("\nExit codes\n")
	}
	for _, e := range c.Exits {
		left := fmt.Sprintf("  %-5d", e.Code)
		for _, line := range Fold(e.Meaning, width-len(left)) {
			b.WriteString(left + line + "\n")
			left = strings.Repeat(" ", len(left))
		}
	}
	return b.String()
}

// Groups are the visible rows by their heading.
func (c *Command) Groups() [][]Row {
	return gathered(visible(c.Rows), func(a, b *Row) bool { return a.Group == b.Group })
}

// gathered are rows in groups of rows that are alike, both in the order of their first rows.
func gathered(rows []Row, alike func(a, b *Row) bool) [][]Row {
	var list [][]Row
	for _, r := range rows {
		i := slices.IndexFunc(list, func(group []Row) bool { return alike(&group[0], &r) })
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
	if d := r.DefaultText(); d != "" {
		text = strings.TrimSpace(text + " (" + d + ")")
	}
	for _, line := range Fold(text, width-column) {
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
	var names []string
	if r.Also != "" {
		names = []string{"also --" + strings.Join(strings.Fields(r.Also), ", --")}
	}
	return r.Meaning(names...)
}

// Meaning is the help with the option's unit, more parts, and whether the option may be repeated.
func (r *Row) Meaning(more ...string) string {
	parts := []string{r.Help}
	if r.Unit != "" && r.DefaultText() == "" {
		parts = append(parts, "in "+r.Unit)
	}
	switch r.To.Unit {
	case "":
	case "bytes":
		parts = append(parts, "a size without a unit is in bytes")
	default:
		parts = append(parts, "a time without a unit is in "+r.To.Unit)
	}
	parts = append(parts, more...)
	if r.Repeat {
		parts = append(parts, "may be repeated")
	}
	return strings.Join(parts, "; ")
}

// TextWidth is the width of the lines of a help text on a terminal of the given width.
func TextWidth(terminal int) int { return min(max(terminal, narrowest), widest) }

// Fold breaks a text into lines between words.
func Fold(text string, width int) []string {
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
