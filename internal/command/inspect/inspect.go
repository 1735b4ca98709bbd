// Package inspect is `redline inspect`: it identifies a server, lists its models, and describes one of them.
package inspect

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// Run is `redline inspect`.
func Run(p *command.IO, args []string) (int, error) {
	var o options
	if _, err := command.Parse(&option.Table{Rows: o.rows(), Secrets: p.Secrets}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	switch {
	case (o.URL == "") != o.embedded:
		return 0, command.Usage(errors.New("name the server with -u HOST:PORT, or start one with --embedded"))
	case o.version != "" && o.model == "":
		return 0, command.Usage(errors.New("-x VERSION needs -m MODEL"))
	}
	if err := p.Files.Writable(o.writeInput); err != nil {
		return 0, err
	}
	ctx, stop := p.SignalContext()
	defer stop()
	t, err := o.Target(p.Getenv, p.Secrets)
	if err != nil {
		return 0, err
	}
	t.Model, t.Version, t.Embedded = o.model, o.version, o.embedded
	if o.embedded {
		e, err := command.StartEmbedded(ctx, p, nil)
		if err != nil {
			return 0, err
		}
		defer e.Stop()
		t.URL = e.Address(plan.Protocol(embeddedPort(&o.Access)))
	}
	q := target.Question(t, &o.Access)
	q.InputFile = o.writeInput
	r, err := q.Look(ctx)
	switch {
	case ctx.Err() != nil:
		return command.ExitInterrupted, nil
	case err != nil:
		return 0, err
	}
	return 0, o.write(p, r)
}

// options is the command line.
type options struct {
	inspect.Access
	model, version string
	writeInput     string
	json, embedded bool
}

func (o *options) rows() []option.Row {
	return append(option.Group("Options", []option.Row{
		{Long: "model", Short: 'm', Arg: "NAME", Help: "describe this model", To: option.Text(&o.model)},
		{Long: "model-version", Short: 'x', Arg: "VERSION", Default: "the server's choice", Help: "version of the model", To: option.Text(&o.version)},
		{Long: "write-input", Arg: "FILE", Writes: true, Help: "write an input file for the model", To: option.Text(&o.writeInput)},
		{Long: "json", Help: "print everything as one JSON object", To: option.Switch(&o.json)},
		{Long: "embedded", Help: "start the reference server and inspect it", To: option.Switch(&o.embedded)},
	}), o.Access.Rows()...)
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Rows: new(options).rows(), Intro: `Usage: redline inspect -u HOST[:PORT] [-m MODEL] [options]

Identifies a server and lists its models. With -m it describes one model: inputs, outputs, batching, sequences,
responses, steps of an ensemble. It prints a command line that measures the model; --write-input writes an input file
for the model. For an OpenAI server it lists the endpoints that respond; each receives one request without a prompt.
`, Examples: `  redline inspect --embedded -m simple
      try it out: no server needed
  redline inspect -u gpu-host:8001
  redline inspect -u gpu-host:8000 -m resnet50 --write-input resnet50.json
  redline inspect -u https://llm.example.com --api-key-env LLM_KEY --json
`}
}

// embeddedPort names the port of the reference server that serves the requested kind and protocol.
func embeddedPort(a *inspect.Access) string {
	switch {
	case kind.Of(a.Kind).Endpoints:
		return string(kind.Of(a.Kind).Reference.Port)
	case a.Protocol == "":
		return string(plan.HTTP)
	}
	return string(a.Protocol)
}

// write prints the report and writes the input file.
func (o *options) write(p *command.IO, r *inspect.Report) error {
	if o.writeInput != "" {
		if r.Input == nil {
			return errors.New("--write-input needs a model: name one with -m MODEL")
		}
		if err := p.Files.WriteFile(o.writeInput, r.Input); err != nil {
			return err
		}
	}
	if o.json {
		return p.PrintJSON(r)
	}
	r.Text(p.Stdout)
	switch {
	case o.writeInput != "":
		fmt.Fprintf(p.Stdout, "\nWrote %s\n", o.writeInput)
	case r.Input != nil:
		fmt.Fprintln(p.Stdout, "\n--write-input FILE writes an input file to start from.")
	case r.Model == nil && len(r.Models) > 0:
		fmt.Fprintln(p.Stdout, "\n-m MODEL describes one of them.")
	case r.Model == nil && r.ModelsErr != "":
		fmt.Fprintln(p.Stdout, "\n-m MODEL describes a model.")
	}
	return nil
}
