package cli

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// runCompletion is `redline completion SHELL`.
func runCompletion(p *command.IO, args []string) (int, error) {
	rest, err := command.Parse(&optset.Set{}, args, 1, 1, "name one shell: bash, zsh or fish")
	if err != nil {
		return 0, err
	}
	var list []flags.Command
	for _, c := range commands() {
		known := flags.Command{Name: c.name, Summary: c.summary}
		if c.words != nil {
			known.Words = c.words()
		}
		list = append(list, known)
	}
	script, err := flags.Completion(rest[0], list)
	fmt.Fprint(p.Stdout, script)
	return 0, err
}
