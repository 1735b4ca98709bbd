package option

import (
	"fmt"
	"slices"
	"strings"
)

// ManPage is a manual page in the roff language, for section 1. Name is the name of the page, such as redline-profile;
// source is the program and its version, which stand at the foot of the page.
func (c *Command) ManPage(name, source string) string {
	var b strings.Builder
	// Words are not broken, so that names of options can be searched and copied.
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"%s\" \"Redline\"\n.nh\n.ad l\n", roff(strings.ToUpper(name)), roff(source))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Summary))
	usage, rest := cutUsage(c.Intro)
	b.WriteString(".SH SYNOPSIS\n.nf\n")
	for line := range strings.Lines(usage) {
		fmt.Fprintln(&b, roffLine(strings.TrimSpace(strings.TrimPrefix(line, "Usage:"))))
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	roffText(&b, rest, ".SS")
	if groups := c.Groups(); len(groups) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, group := range groups {
			fmt.Fprintf(&b, ".SS %s\n", roff(group[0].Group))
			for i := range group {
				group[i].man(&b)
			}
		}
	}
	if c.Examples != "" {
		roffText(&b, "Examples\n"+c.Examples, ".SH")
	}
	roffText(&b, c.closing(narrowest), ".SH")
	return b.String()
}

// cutUsage divides the beginning of a help page into the block that says how the command is called, and the others.
func cutUsage(intro string) (usage, rest string) {
	blocks := strings.Split(strings.Trim(intro, "\n"), "\n\n")
	i := max(0, slices.IndexFunc(blocks, func(s string) bool { return strings.HasPrefix(s, "Usage:") }))
	usage = blocks[i]
	return usage, strings.Join(slices.Delete(blocks, i, i+1), "\n\n")
}

// man writes one option: its names in bold, then what it does.
func (r *Row) man(b *strings.Builder) {
	names := r.Names()
	for i, name := range names {
		names[i] = `\fB` + roff(name) + `\fR`
		if r.Arg != "" {
			names[i] += ` \fI` + roff(r.Arg) + `\fR`
		}
	}
	fmt.Fprintf(b, ".TP\n%s\n", strings.Join(names, ", "))
	text := r.explain()
	if d := r.DefaultText(); d != "" {
		text += " (default: " + d + ")"
	}
	fmt.Fprintln(b, roffLine(strings.TrimSpace(text)))
}

// roffText writes the plain text of a help page. Blank lines divide it into blocks. A block of indented lines keeps its
// lines; if a line that is not indented precedes them, that line is a heading, for which macro is the request.
func roffText(b *strings.Builder, text, macro string) {
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		switch {
		case lines[0] == "":
		case len(lines) > 1 && !indented(lines[0]) && indented(lines[1]):
			fmt.Fprintf(b, "%s %s\n", macro, roff(strings.TrimSuffix(lines[0], ":")))
			literal(b, lines[1:])
		case indented(lines[0]):
			b.WriteString(".PP\n")
			literal(b, lines)
		default:
			b.WriteString(".PP\n")
			for _, line := range lines {
				fmt.Fprintln(b, roffLine(strings.TrimSpace(line)))
			}
		}
	}
}

func indented(line string) bool { return strings.HasPrefix(line, " ") }

// literal writes lines as they are.
func literal(b *strings.Builder, lines []string) {
	b.WriteString(".nf\n")
	for _, line := range lines {
		fmt.Fprintln(b, roffLine(line))
	}
	b.WriteString(".fi\n")
}

// roff escapes what the roff language gives a meaning to. Quotes and dashes stay those of ASCII, so that a reader can copy
// them into a shell.
func roff(text string) string {
	return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, `"`, `\(dq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`).Replace(text)
}

// roffLine is roff for a whole line, which must not begin like a request.
func roffLine(line string) string {
	line = roff(line)
	if strings.HasPrefix(line, ".") {
		return `\&` + line
	}
	return line
}
