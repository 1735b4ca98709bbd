package cli

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// runCompletion is `redline completion SHELL`.
func runCompletion(p *command.IO, args []string) (int, error) {
	rest, err := command.Parse(&option.Table{}, args, 1, 1, "name one shell: bash, zsh or fish")
	if err != nil {
		return 0, err
	}
	script, err := option.Completion(rest[0], described(), flags.Command(flags.PerfAnalyzer, ""))
	fmt.Fprint(p.Stdout, script)
	return 0, err
}
