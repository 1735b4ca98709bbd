package cli

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
)

// runHelp is `redline help [command [all]]`.
func runHelp(p *command.IO, args []string) (int, error) {
	all := len(args) == 2 && args[1] == "all"
	if all {
		args = args[:1]
	}
	rest, err := command.Parse(&option.Table{}, args, 0, 1, "name one command, or none")
	if err != nil {
		return 0, err
	}
	if len(rest) == 0 {
		fmt.Fprint(p.Stdout, overview())
		return 0, nil
	}
	c, ok := find(rest[0])
	if !ok {
		return 0, noCommand(rest[0])
	}
	fmt.Fprint(p.Stdout, c.help(p, all))
	return 0, nil
}

func aboutHelp() option.Command {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return option.Command{Intro: helpHelp, Words: names}
}

func overview() string {
	var b strings.Builder
	b.WriteString("Redline sends load to inference servers and measures throughput, latency and failures.\n\nUsage: redline COMMAND [options]\n\nCommands\n")
	list, width := commands(), 0
	for _, c := range list {
		width = max(width, len(c.name))
	}
	for _, c := range list {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, c.name, c.summary)
	}
	b.WriteString(`
'redline help COMMAND' explains a command. If you start the program as perf_analyzer, for example through
a link, it behaves like perf_analyzer.

Examples
  redline profile --embedded -m simple -i grpc --concurrency-range 1:4
      try it out: no server needed
  redline profile -m resnet50 -u gpu-host:8001 -i grpc --request-rate-range 100:500:100
      measure the latency that users see at 100, 200, ... 500 requests per second
`)
	return b.String()
}

const (
	versionHelp = `Usage: redline version [--json]

Prints the version of this program, the commit (if known), the Go version and the platform it was built for.
`
	helpHelp = `Usage: redline help [COMMAND [all]]

Explains a command with its most used options, or with all options; without COMMAND, lists all commands.
`
	completionHelp = `Usage: redline completion bash|zsh|fish

Prints a script for your shell that completes commands, options and their values, for redline and perf_analyzer.

Examples
  source <(redline completion bash)
      for this shell; for all shells, add the line to ~/.bashrc
  source <(redline completion zsh)
      for this shell; for all shells, add the line to ~/.zshrc after compinit
  redline completion fish > ~/.config/fish/completions/redline.fish
      for all fish shells
`
)
