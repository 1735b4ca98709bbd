package cli

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
)

// runHelp is `redline help [COMMAND [all | WORD] | TOPIC]`.
func runHelp(p *command.IO, args []string) (int, error) {
	word := ""
	if len(args) == 2 {
		_, first := find(args[0])
		_, second := find(args[1])
		if first && !second {
			args, word = args[:1], args[1]
		}
	}
	rest, err := command.Parse(&option.Table{}, args, 0, 1, "name one command or topic, or none")
	if err != nil {
		return 0, err
	}
	if len(rest) == 0 {
		fmt.Fprint(p.Stdout, overview())
		return 0, nil
	}
	if c, ok := find(rest[0]); ok {
		return 0, c.help(p, word)
	}
	if t, ok := findTopic(rest[0]); ok {
		fmt.Fprint(p.Stdout, t.text(p.Columns()))
		return 0, nil
	}
	return 0, noTopic(rest[0])
}

// noTopic is the error of a word that is neither a command nor a topic.
func noTopic(name string) error {
	if near := option.Near(name, topicNames()); len(near) > 0 {
		return fmt.Errorf("unknown topic %q; did you mean 'redline help %s'?", name, strings.Join(near, "' or 'redline help "))
	}
	return noCommand(name)
}

func aboutHelp() option.Command {
	return option.Command{Intro: helpHelp, Words: append(commandNames(), topicNames()...)}
}

func topicNames() []string { return convert.All(topics(), func(t topic) string { return t.name }) }

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
	b.WriteString("\nTopics: how to do a task\n")
	pages, width := topics(), 0
	for _, t := range pages {
		width = max(width, len(t.name))
	}
	for _, t := range pages {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, t.name, strings.ToLower(t.title[:1])+t.title[1:])
	}
	b.WriteString(`
'redline help COMMAND' explains a command, 'redline help TOPIC' a task. If you start the
program as perf_analyzer, for example through a link, it behaves like perf_analyzer; as llm_perf,
like the Python perf tool for TensorRT-LLM.

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
	helpHelp = `Usage: redline help [COMMAND [all | WORD] | TOPIC]

Explains a command with its most used options, with all options, or with those that are about a word; or shows
how to do a task. Without an argument, lists all commands and topics.
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
