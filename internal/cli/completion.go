package cli

import (
	"fmt"
	"io"

	"github.com/redline-bench/redline/internal/pacompat/flags"
)

// runCompletion is `redline completion SHELL`.
func runCompletion(args []string, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "redline completion: name one shell: bash, zsh or fish")
		return exitError
	}
	if args[0] == "-h" || args[0] == "--help" {
		fmt.Fprint(stdout, completionHelp)
		return exitOK
	}
	script, err := flags.Completion(args[0], commands())
	if err != nil {
		fmt.Fprintf(stderr, "redline completion: %v\n", err)
		return exitError
	}
	fmt.Fprint(stdout, script)
	return exitOK
}
