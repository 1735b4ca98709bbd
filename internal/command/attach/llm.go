package attach

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/coordinator"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/secret"
)

// languageModel goes on with a run of redline llm, or reports what it had measured.
func (o *options) languageModel(p *command.IO, sigs *command.Signals, line string, bus *coordinator.Bus, run *fleet.Run) (int, error) {
	args, err := o.arguments(run.Options())
	if err != nil {
		run.Abandon(sigs.Soft)
		bus.Close()
		return 0, err
	}
	o.sayKnown(p, run)
	t := &llm.Taken{Args: args, Outcome: o.outcome, JSON: o.output.ResultJSON, Line: line, Bus: bus, Run: run}
	if o.collect {
		return llm.Collect(p, sigs, t)
	}
	return llm.TakeUp(p, sigs, t)
}

// arguments are the options of a run with the values that the command line gives. NATS keeps no secrets: the error names those that are
// missing. With --collect nothing is sent, so no secret is needed.
func (o *options) arguments(kept []string) ([]string, error) {
	given := o.values()
	var args, missing []string
	masked := map[string]int{}
	for _, arg := range kept {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case strings.Contains(value, secret.Mask) && !o.collect:
			if masked[name]++; masked[name] > len(given[name]) {
				missing = append(missing, arg)
			}
		case len(given[name]) > 0 && (name == "--url" || name == "--endpoint"): // it replaces the run's
		default:
			args = append(args, arg)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("NATS keeps no secrets of the run: give %s again", strings.Join(missing, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		for _, value := range given[name] {
			args = append(args, name+"="+value)
		}
	}
	return args, nil
}

// values are the values that the command line gives, by the options of redline llm.
func (o *options) values() map[string][]string {
	out := map[string][]string{"--extra-inputs": o.extra}
	for _, h := range o.given.Headers {
		out["--header"] = append(out["--header"], h.Name+": "+h.Value)
	}
	for name, value := range map[string]string{"--url": o.given.URL, "--endpoint": o.given.Endpoint, "--api-key": o.apiKey} {
		if value != "" {
			out[name] = []string{value}
		}
	}
	return out
}
