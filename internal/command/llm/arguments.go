package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// parse reads the command line.
func (o *options) parse(args []string, secrets *secret.Set) error {
	o.table = &option.Table{Rows: o.rows(), Secrets: secrets}
	stray, err := o.table.Parse(severalValues(o.table.Rows, switchValues(o.table.Rows, args)))
	switch {
	case err != nil || len(stray) == 0:
		return err
	case slices.Contains(args, "--") && strings.HasPrefix(stray[0], "-"):
		return fmt.Errorf("%q after --: GenAI-Perf passes such options to perf_analyzer, which is not used here; give options of this command, without --", stray[0])
	}
	return o.table.Unexpected(stray[0], 0)
}

// severalValues repeats the name of a repeatable option before each of its values: AIPerf and vLLM's benchmark accept several
// values after one name. This is unambiguous: the command has no arguments other than options and their values.
func severalValues(rows []option.Row, args []string) []string {
	byName := map[string]*option.Row{}
	for i := range rows {
		for _, name := range rows[i].Names() {
			byName[name] = &rows[i]
		}
	}
	var out []string
	list := ""     // the option that further values belong to
	first := false // the next argument is its first value, even if it starts with "-"
	for _, a := range args {
		row := byName[a]
		option := strings.HasPrefix(a, "-")
		switch {
		case first && (!option || !byName[list].Optional):
			first = false
		case row != nil && row.Repeat:
			list, first = a, true
		case option:
			list, first = "", false
		case list != "":
			out = append(out, list)
		}
		out = append(out, a)
	}
	return out
}

// switchValues removes the values true and false behind options that take none, as AIPerf writes them: --streaming true. A switch
// that is false is left out, or becomes its opposite, --no-streaming, if there is one.
func switchValues(rows []option.Row, args []string) []string {
	switches, valued, optional := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range rows {
		for _, name := range rows[i].Names() {
			switches[name], valued[name], optional[name] = rows[i].Arg == "" && rows[i].Instead == "", rows[i].Arg != "", rows[i].Optional
		}
	}
	var out []string
	for i := 0; i < len(args); i++ {
		name, value, attached := strings.Cut(args[i], "=")
		switch {
		case valued[args[i]] && i+1 < len(args) && (!optional[args[i]] || !strings.HasPrefix(args[i+1], "-")): // the next argument is its value
			out = append(out, args[i], args[i+1])
			i++
			continue
		case !switches[name]:
			out = append(out, args[i])
			continue
		case !attached && i+1 < len(args) && isTruth(args[i+1]):
			i++
			value = args[i]
		case !attached:
			value = "true"
		}
		opposite := "--no-" + strings.TrimPrefix(name, "--")
		switch {
		case strings.EqualFold(value, "true"):
			out = append(out, name)
		case !strings.EqualFold(value, "false"):
			out = append(out, args[i]) // the table says what is wrong
		case switches[opposite]:
			out = append(out, opposite)
		case strings.HasPrefix(name, "--no-") && switches["--"+strings.TrimPrefix(name, "--no-")]:
			out = append(out, "--"+strings.TrimPrefix(name, "--no-"))
		}
	}
	return out
}

func isTruth(text string) bool {
	return strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
}
