package tune

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tune"
)

// inTurn are the searches of several models, one after the other. Each is a run of its own, with files of its own.
func inTurn(first *session, base search.Traffic, models []string) ([]*session, error) {
	var list []*session
	for i, model := range models {
		if filepath.Base(model) != model {
			return nil, fmt.Errorf("-m %s: with several models, files get the name of the model, and this is no name of a file", model)
		}
		own := *first.opts
		own.varies = slices.DeleteFunc(slices.Clone(own.varies), func(v tune.Vary) bool { return ofAnother(v.Name, model, models) })
		if len(own.varies) == 0 && len(first.opts.varies) > 0 {
			return nil, fmt.Errorf("no --vary is about the model %q: add one, or remove -m %s", model, model)
		}
		own.csv = fileFor(own.csv, model)
		out, json := base.Outcome()
		rest := append(slices.Clone(first.rest), modelOption, model)
		for _, o := range [...]struct{ name, file string }{{"--json", json}, {"--report", out.Report}, {"--junit", out.JUnit}} {
			if o.file != "" {
				rest = append(rest, o.name, fileFor(o.file, model))
			}
		}
		s := &session{IO: first.IO, sigs: first.sigs, opts: &own, what: first.what, rest: rest, turn: model, place: i + 1, places: len(models)}
		traffic, err := s.traffic(nil)
		if err != nil {
			return nil, err
		}
		s.args = lastOf(traffic.Arguments(), modelOption, "--json", "--report", "--junit")
		if err := s.check(traffic); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// ofAnother tells whether a knob is about another one of the models.
func ofAnother(knob, model string, models []string) bool {
	step, _, ok := cutSetting(knob)
	return ok && step != model && slices.Contains(models, step)
}

// fileFor is the file of one of several models: result.json becomes result-MODEL.json.
func fileFor(path, model string) string {
	if path == "" {
		return ""
	}
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "-" + model + ext
}

// runAll runs the searches one after the other. The models share the budget: what one leaves is for those after it.
func runAll(list []*session, budget time.Duration) (int, error) {
	left, worst := budget, command.ExitOK
	if len(list) > 1 {
		if err := allThere(list); err != nil {
			return list[0].failed(err), nil
		}
	}
	for i, s := range list {
		if budget > 0 {
			s.opts.budget = max(left/time.Duration(len(list)-i), time.Millisecond)
		}
		s.sigs.Enter(command.Preparing)
		code, err := s.run()
		if err != nil {
			return code, err
		}
		if s.search != nil {
			left -= s.search.Spent()
		}
		if severity(code) > severity(worst) {
			worst = code
		}
		if s.sigs.Soft.Err() != nil || code == command.ExitError {
			break
		}
	}
	if len(list) > 1 {
		summary(list)
	}
	return worst, nil
}

// allThere finds out before the first search whether the server has all models. A server without a list is asked by each search.
func allThere(list []*session) error {
	pl := list[0].base.Plan()
	ctx, cancel := context.WithTimeout(list[0].sigs.Soft, list[0].opts.ready)
	defer cancel()
	svc, err := open(pl)
	if err != nil {
		return err
	}
	defer svc.Close()
	lister, ok := svc.(service.Lister)
	if !ok {
		return nil
	}
	there, err := lister.Models(ctx)
	if err != nil || len(there) == 0 {
		return nil // the search says what is wrong
	}
	unready := slices.DeleteFunc(slices.Clone(there), func(m service.ListedModel) bool { return m.State == service.Ready })
	ready := slices.DeleteFunc(there, func(m service.ListedModel) bool { return m.State != service.Ready })
	names := convert.All(append(ready, unready...), func(m service.ListedModel) string { return m.Name })
	for _, s := range list {
		if !slices.Contains(names, s.turn) {
			return fmt.Errorf("the server at %s has no model %q; it has %s", secret.PublicURL(pl.Target.URL), s.turn, target.Few(names, s.turn))
		}
	}
	return nil
}

// severity orders exit codes: of several searches the command has the most severe.
func severity(code int) int {
	order := []int{command.ExitOK, command.ExitUnstable, command.ExitAssertion, command.ExitInvalid, command.ExitError, command.ExitInterrupted}
	return slices.Index(order, code)
}

// summary prints the best candidate of each model.
func summary(list []*session) {
	out := list[0].Stdout
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "model\tinferences/s\tbest")
	for _, s := range list {
		load, name := "", "not measured"
		if s.winner != nil {
			load, name = number(s.winner.Inferences), s.name(s.knobValues(s.winner))
		} else if s.search != nil && len(s.search.Candidates()) > 0 {
			name = "none"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.turn, load, name)
	}
	_ = w.Flush() // standard output reports its own errors
}

// lastOf keeps the last one of each of these options.
func lastOf(args []string, names ...string) []string {
	var out []string
	for i, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		later := slices.ContainsFunc(args[i+1:], func(other string) bool { return strings.HasPrefix(other, name+"=") })
		if !later || !slices.Contains(names, name) {
			out = append(out, arg)
		}
	}
	return out
}
