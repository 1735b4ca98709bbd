package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// inspectOptions is the command line of inspect.
type inspectOptions struct {
	inspect.Access
	model, version string
	writeInput     string
	json, embedded bool
}

func inspectSet(o *inspectOptions) *optset.Set {
	s := &optset.Set{}
	s.Group("Options")
	s.Text(&o.model, "model,m", "NAME", "describe this model")
	s.Text(&o.version, "model-version,x", "VERSION", "version of the model (the server's choice)")
	s.Text(&o.writeInput, "write-input", "FILE", "write an input file for the model")
	s.Bool(&o.json, "json", "print everything as one JSON object")
	s.Bool(&o.embedded, "embedded", "start the reference server and ask that")
	s.Group("Server")
	o.AddOptions(s)
	return s
}

func inspectHelp() string {
	return `Usage: redline inspect -u HOST[:PORT] [-m MODEL] [options]

Asks a server what it is and which models it has. With -m it describes one model: inputs, outputs, batching, sequences,
responses, steps of an ensemble. It prints a command line that measures the model, and --write-input writes an input
file for it. Of an OpenAI server it tells which endpoints answer: each gets one request without a prompt.
` + inspectSet(new(inspectOptions)).Help() + `
Examples
  redline inspect --embedded -m simple
      try it out: no server needed
  redline inspect -u gpu-host:8001
  redline inspect -u gpu-host:8000 -m resnet50 --write-input resnet50.json
  redline inspect -u https://llm.example.com --api-key-env LLM_KEY --json
`
}

// runInspect is `redline inspect`.
func runInspect(p *IO, args []string) (int, error) {
	var o inspectOptions
	set := inspectSet(&o)
	set.Secrets = p.Secrets
	if _, err := parse(set, args, 0, 0, ""); err != nil {
		return exitError, err
	}
	switch {
	case (o.URL == "") != o.embedded:
		return exitError, usageError{errors.New("name the server with -u HOST:PORT, or start one with --embedded")}
	case o.version != "" && o.model == "":
		return exitError, usageError{errors.New("-x VERSION needs -m MODEL")}
	}
	if err := p.writable(o.writeInput); err != nil {
		return exitError, err
	}
	ctx, stop := p.signalContext()
	defer stop()
	t, err := o.Target(p.Getenv, p.Secrets)
	if err != nil {
		return exitError, err
	}
	t.Model, t.Version, t.Embedded = o.model, o.version, o.embedded
	if o.embedded {
		e, err := startEmbedded(ctx, p, nil)
		if err != nil {
			return exitError, err
		}
		defer e.stop()
		t.URL = e.address(plan.Protocol(embeddedPort(&o.Access)))
	}
	r, err := question(t, &o.Access, o.writeInput).Look(ctx)
	switch {
	case ctx.Err() != nil:
		return exitInterrupted, nil
	case err != nil:
		return exitError, err
	}
	if err := o.write(p, r); err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// embeddedPort names the port of the reference server that serves what was asked for.
func embeddedPort(a *inspect.Access) string {
	switch {
	case a.Kind == plan.OpenAI:
		return string(a.Kind)
	case a.Protocol == "":
		return string(plan.HTTP)
	}
	return string(a.Protocol)
}

// question asks a server with the services of this program.
func question(t plan.Target, a *inspect.Access, input string) *inspect.Question {
	return &inspect.Question{
		Target: t, Timeout: a.Timeout, InputFile: input, KeyVariable: a.KeyVariable,
		Open: func(t plan.Target) (service.Service, error) {
			return newService(&plan.Plan{Face: plan.Redline, Target: t, Input: plan.Input{Batch: 1, SharedMemory: plan.NoSharedMemory}})
		},
	}
}

// write prints the report and writes the input file.
func (o *inspectOptions) write(p *IO, r *inspect.Report) error {
	if o.writeInput != "" {
		if r.Input == nil {
			return errors.New("--write-input: there is no model to write the input of: name one with -m MODEL")
		}
		if err := p.Files.WriteFile(o.writeInput, r.Input); err != nil {
			return err
		}
	}
	if o.json {
		return printJSON(p, r)
	}
	r.Text(p.Stdout)
	switch {
	case o.writeInput != "":
		fmt.Fprintf(p.Stdout, "\nWrote %s\n", o.writeInput)
	case r.Input != nil:
		fmt.Fprintln(p.Stdout, "\n--write-input FILE writes an input file to start from.")
	case r.Model == nil && len(r.Models) > 0:
		fmt.Fprintln(p.Stdout, "\n-m MODEL describes one of them.")
	}
	return nil
}

// printJSON prints a value as indented JSON.
func printJSON(p *IO, v any) error {
	e := json.NewEncoder(p.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
