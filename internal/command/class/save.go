package class

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/scenario"
)

// kept are the options of the run as a whole that a saved scenario has. The others name files and pages, or concern the terminal.
var kept = []string{"--segment", "--assert", "--label", "--baseline", "--max-regression"}

// Outside are the options that a class cannot have because they are about the run as a whole: those of its outcome and of its fleet,
// and others that the command names.
func Outside(others ...string) []string {
	rows := append(new(plan.Outcome).Rows(), new(plan.Fleet).Rows()...) // the workers are those of all classes
	names := convert.All(rows, func(row option.Row) string { return row.Name() })
	return append(names, append(others, "--segment", "--json", "--save-scenario")...)
}

// Save writes a run as a scenario. outside are the options that a class cannot have.
func Save(p *command.IO, path, name string, args []string, rows []option.Row, outside []string) error {
	if path == "" {
		return nil
	}
	drop := slices.DeleteFunc(slices.Clone(outside), func(name string) bool { return slices.Contains(kept, name) })
	content, variables, err := scenario.Write(scenario.Run{Command: name, Args: args, Rows: rows, Whole: kept, Drop: drop})
	if err == nil {
		err = p.Files.WriteFile(path, content)
	}
	if err != nil {
		return fmt.Errorf("--save-scenario: %w", err)
	}
	if len(variables) > 0 {
		fmt.Fprintf(p.FoldedErr(), "redline %s: %s has no secrets: it reads them from the environment, set %s before 'redline run'\n", name, path, strings.Join(variables, ", "))
	}
	return nil
}
