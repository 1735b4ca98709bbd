package llm

import (
	"fmt"
	"slices"
	"strings"

	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/secret"
)

// read reads the options of `redline llm` and prepares the traffic of their plan. Their secrets go to secrets.
func read(args []string, secrets *secret.Set) (traffic, error) {
	return readOver(defaults, args, secrets)
}

// readOver reads options that change a draft.
func readOver(draft func() *options, args []string, secrets *secret.Set) (traffic, error) {
	o := draft()
	if err := o.parse(args, secrets); err != nil {
		return traffic{}, err
	}
	p, err := o.plan()
	if err != nil {
		return traffic{}, err
	}
	t := traffic{opts: p, load: p.loadOptions(), table: o.table, save: o.save, written: p}
	hidden := slices.DeleteFunc(t.table.Arguments(), func(arg string) bool { return !strings.Contains(arg, secret.Mask) })
	if len(hidden) == 0 {
		return t, nil
	}
	// The written plan is made of the options without their secrets, so that the rows alone decide what a secret is.
	o = draft()
	if err := o.parse(t.table.Public(), nil); err != nil {
		return traffic{}, err
	}
	if t.written, err = o.plan(); err != nil {
		return traffic{}, err
	}
	t.written = t.written.with(func(p *Plan) { p.Secrets = hidden })
	return t, nil
}

// plan settles what a command line says in other words, and checks the plan. The error has all faults.
func (o *options) plan() (*Plan, error) {
	var f plan.Faults
	if o.Kind == "" {
		switch {
		case o.Protocol == plan.GRPC, o.triton && o.Protocol == "":
			o.Kind = string(api.KServeText)
		case o.Protocol == plan.HTTP:
			o.Kind = string(api.Generate)
			o.Streaming = !o.NoStream
		default:
			o.Kind = string(api.Chat)
		}
	}
	o.applyLists()
	f.Add(o.settle())
	f.Add(o.settleMedia())
	f.Add(o.Fleet.Check(o.table.Given))
	p, err := newPlan(o.Plan)
	f.Add(err)
	return p, f.Err()
}

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
		case !attached && i+1 < len(args) && (strings.EqualFold(args[i+1], "true") || strings.EqualFold(args[i+1], "false")):
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
