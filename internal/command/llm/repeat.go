package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/secret"
)

// Repeat carries out the plan of a result again, with the options of args, which replace what the plan says. line is the whole command
// line that this makes: reports show it, and workers get it.
func Repeat(p *command.IO, own json.RawMessage, args, line []string) (int, error) {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	t, err := readAgain(own, args, p.Secrets)
	if err != nil {
		return 0, command.Usage(err)
	}
	whole := defaults()
	if err := whole.parse(line, p.Secrets); err != nil {
		return 0, command.Usage(err)
	}
	t.table = whole.table
	return start(p, sigs, t, t.table.Command("redline llm"), workers{})
}

// readAgain reads options that change the plan of a result.
func readAgain(own json.RawMessage, args []string, secrets *secret.Set) (traffic, error) {
	changes := defaults()
	if err := changes.parse(args, secrets); err != nil {
		return traffic{}, err
	}
	var text bytes.Buffer // fields of request bodies are sent as they are written here, without spaces
	if err := json.Compact(&text, own); err != nil {
		return traffic{}, fmt.Errorf("the plan of the result cannot be read: %w", err)
	}
	var first Plan
	kept, err := secret.DropMasked(text.Bytes())
	if err = errors.Join(err, json.Unmarshal(own, &first)); err != nil {
		return traffic{}, fmt.Errorf("the plan of the result cannot be read: %w", err)
	}
	if err := secret.Missing(first.Secrets, changes.table.Arguments()); err != nil {
		return traffic{}, err
	}
	return readOver(func() *options {
		o := &options{}
		_ = json.Unmarshal(kept, &o.Plan) // it was read before
		o.Outcome, o.Artifacts, o.Secrets = o.Outcome.Again(), "", nil
		given := changes.table.Given
		if given("url") || given("embedded") {
			o.URLs, o.Embedded = nil, false
		}
		if given("model") {
			o.Model = ""
		}
		return o
	}, args, secrets)
}
