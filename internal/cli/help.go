package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// helpWidth is how wide help is set when no terminal is asked.
const helpWidth = 100

// commands is what redline can do, in the order of help.
func commands() []flags.Command {
	list := []flags.Command{
		{Name: "profile", Summary: "load a server and report throughput, latency and failures"},
		{Name: "llm", Summary: "load a language model and measure it token by token", Words: llmNames()},
		{Name: "calibrate", Summary: "measure what this client costs by itself, so that reports can state their error"},
		{Name: "simple", Summary: "one request after the other to a simple model: five numbers", Words: simpleNames()},
		{Name: "stress", Summary: "send whole and broken sequences and check every answer", Words: stressNames()},
		{Name: "compare", Summary: "say whether two runs differ, by how much and how surely", Words: compareSet(new(compareOptions)).Names()},
		{Name: "report", Summary: "write a run, or two beside each other, as an HTML page", Words: reportSet(new(string)).Names()},
		{Name: "dash", Summary: "serve the kept runs as pages on this machine", Words: dashSet(new(string)).Names()},
		{Name: "history", Summary: "list the runs that were kept", Words: historySet(new(historyOptions)).Names()},
		{Name: "tokenize", Summary: "turn texts into token ids, as a model's own tokenizer does", Words: tokenizeNames()},
		{Name: "serve", Summary: "run the reference server, to try things out and to measure against"},
		{Name: "version", Summary: "print the version of this program"},
		{Name: "completion", Summary: "print a completion script for a shell", Words: flags.Shells()},
	}
	help := flags.Command{Name: "help", Summary: "explain a command"}
	for _, c := range list {
		help.Words = append(help.Words, c.Name)
	}
	return append(list, help)
}

// runHelp is `redline help [command]`.
func runHelp(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stdout, overview())
		return exitOK
	}
	switch args[0] {
	case "profile":
		fmt.Fprint(stdout, flags.Help(plan.Redline, helpWidth))
	case "llm":
		fmt.Fprint(stdout, llmHelp())
	case "calibrate":
		fmt.Fprint(stdout, calibrateHelp)
	case "simple":
		fmt.Fprint(stdout, simpleHelp())
	case "stress":
		fmt.Fprint(stdout, stressHelp())
	case "compare":
		fmt.Fprint(stdout, compareHelp())
	case "report":
		fmt.Fprint(stdout, reportHelp())
	case "dash":
		fmt.Fprint(stdout, dashHelp())
	case "history":
		fmt.Fprint(stdout, historyHelp())
	case "tokenize":
		fmt.Fprint(stdout, tokenizeHelp())
	case "serve":
		fmt.Fprint(stdout, serveHelp)
	case "version":
		fmt.Fprint(stdout, versionHelp)
	case "help":
		fmt.Fprint(stdout, helpHelp)
	case "completion":
		fmt.Fprint(stdout, completionHelp)
	default:
		fmt.Fprintf(stderr, "redline help: there is no command %q: run 'redline help' for the list\n", args[0])
		return exitError
	}
	return exitOK
}

func overview() string {
	var b strings.Builder
	b.WriteString("Redline loads inference servers and tells the truth about them.\n\nUsage: redline COMMAND [options]\n\nCommands\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-12s%s\n", c.Name, c.Summary)
	}
	b.WriteString(`
'redline help COMMAND' explains one. Linked under the name perf_analyzer, the program behaves as perf_analyzer does.

Examples
  redline profile --embedded -m simple -i grpc --concurrency-range 1:4
      try it out: no server needed
  redline profile -m resnet50 -u gpu-host:8001 -i grpc --request-rate-range 100:500:100
      what latency users would see at 100 to 500 requests a second
`)
	return b.String()
}

const (
	versionHelp = `Usage: redline version

Prints the version of this program, the commit it was built from where that is known, and the Go release and
platform it was built with.
`
	helpHelp = `Usage: redline help [COMMAND]

Explains a command, or lists them all.
`
	completionHelp = `Usage: redline completion bash|zsh|fish

Prints a script that completes commands, options and their values, for redline and for perf_analyzer.

Examples
  source <(redline completion bash)
      for this shell; put the line into ~/.bashrc for all
  source <(redline completion zsh)
      for this shell; put the line into ~/.zshrc, behind compinit, for all
  redline completion fish > ~/.config/fish/completions/redline.fish
      for all fish shells
`
)
