//go:generate go test -run ^TestReference$ . -update
package flags

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
)

// Help returns the help text of a face, set for a terminal of the given width.
func Help(face plan.Program, width int) string {
	return help(face, "", width)
}

// help is Help for a program that was started under the name argv0.
func help(face plan.Program, argv0 string, width int) string {
	width = min(max(width, 72), 120)
	var b strings.Builder
	if face == plan.PerfAnalyzer {
		fmt.Fprintf(&b, "Usage: %s [options]\n\n", cmp.Or(argv0, "perf_analyzer"))
		fill(&b, "", width, "Loads an inference server and reports throughput and latency of each load level. This is Redline in "+
			"perf_analyzer mode, with perf_analyzer's options, output and exit codes.")
	} else {
		b.WriteString("Usage: redline profile -m MODEL [options]\n\n")
		fill(&b, "", width, "Loads an inference server and reports throughput, latency, failures and client health of each load level. It has "+
			"perf_analyzer's options and some of its own.")
	}
	rows := Rows(face)
	for _, s := range Sections() {
		fmt.Fprintf(&b, "\n%s\n", s)
		for i := range rows {
			if rows[i].Section == s {
				rows[i].help(&b, width)
			}
		}
	}
	b.WriteString("\n")
	fill(&b, "", width, "A long option may be abbreviated if the abbreviation is unique. A value follows after a space or an equals sign. "+
		"Short options without a value may share one dash.")
	b.WriteString("\nExit codes\n" + exitCodes)
	b.WriteString("\nExamples\n" + examples(face))
	return b.String()
}

const exitCodes = `  0    done                                   3    no valid request in a window
  2    a level did not become stable          99   any other error
  130  interrupted; what was measured is reported
`

func examples(face plan.Program) string {
	program := "perf_analyzer"
	own := ""
	if face == plan.Redline {
		program = "redline profile"
		own = `  redline profile --embedded -m simple -i grpc --concurrency-range 1:4
      try it out: no server needed
`
	}
	return own + strings.ReplaceAll(`  PROGRAM -m resnet50 -i grpc --concurrency-range 1:16
      measure throughput and latency at concurrency 1 to 16
  PROGRAM -m resnet50 --request-rate-range 100:500:100 --request-distribution poisson
      measure the latency that users see at 100, 200, ... 500 requests per second
  PROGRAM -m resnet50 --concurrency-range 1:256 --binary-search -l 50 --percentile 99
      find the highest load with a 99th percentile below 50 ms
  PROGRAM -m bert --input-data in.json --request-count 1000 --profile-export-file run.json
      send a thousand requests with your own data and write the times of each
`, "PROGRAM", program)
}

// column is where explanations start.
const column = 34

// help writes one option: its forms on the left, its explanation on the right.
func (r *Row) help(b *strings.Builder, width int) {
	left := "  " + r.forms()
	if len(left) > column-2 {
		b.WriteString(left + "\n")
		left = ""
	}
	indent := strings.Repeat(" ", column)
	var right strings.Builder
	fill(&right, indent, width, r.explain())
	b.WriteString(left + strings.TrimPrefix(right.String(), indent[:len(left)]))
}

// forms returns how the option is written, long names below each other: "-p, --measurement-interval N".
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

// explain returns the help text with repetition, default and what is missing.
func (r *Row) explain() string {
	parts := []string{r.Help}
	if r.Repeat {
		parts = append(parts, "May be repeated.")
	}
	switch {
	case r.Default != "":
		parts = append(parts, "Default: "+r.defaultText()+".")
	case r.Unit != "":
		parts = append(parts, "In "+r.Unit+".")
	}
	return strings.Join(parts, " ")
}

// defaultText puts the unit behind a default's number: "5000 ms".
func (r *Row) defaultText() string {
	number, rest, comma := strings.Cut(r.Default, ", ")
	if r.Unit == "" || number == "" || strings.Trim(number, "0123456789.") != "" {
		return r.Default
	}
	if comma {
		rest = ", " + rest
	}
	return number + " " + r.Unit + rest
}

// fill writes text as lines of at most width, each behind the indent.
func fill(b *strings.Builder, indent string, width int, text string) {
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && len(indent)+len(line)+1+len(word) > width {
			b.WriteString(indent + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	b.WriteString(indent + line + "\n")
}

// Markdown returns the reference of all options, docs/flags.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Options

<!-- Generated from the option table by "make generate". Do not edit. -->

This page lists every option of ` + "`redline profile`" + ` and of perf_analyzer mode. Options marked *redline* exist only in ` + "`redline profile`" + `.
A long option may be abbreviated if the abbreviation is unique.
`)
	rows := Rows(plan.Redline)
	for _, s := range Sections() {
		fmt.Fprintf(&b, "\n## %s\n\n| option | default | what for |\n|---|---|---|\n", s)
		for i := range rows {
			if rows[i].Section == s {
				rows[i].markdown(&b)
			}
		}
	}
	return b.String()
}

// markdown writes one option as a row of a table.
func (r *Row) markdown(b *strings.Builder) {
	var forms []string
	if r.Long != "" {
		forms = append(forms, "--"+r.Long)
	}
	if r.Short != 0 {
		forms = append(forms, "-"+string(r.Short))
	}
	if r.Arg != "" {
		forms[len(forms)-1] += " " + r.Arg
	}
	what := r.Help
	if r.Repeat {
		what += " May be repeated."
	}
	if r.Default == "" && r.Unit != "" {
		what += " In " + r.Unit + "."
	}
	if r.Face == RedlineOnly {
		what += " *redline*"
	}
	cell := strings.NewReplacer("|", "\\|")
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", cell.Replace(strings.Join(forms, "`, `")), cell.Replace(r.defaultText()), cell.Replace(what))
}
