// Package tune is `redline tune`: it searches for the configuration of a model that takes the highest load while objectives hold.
// internal/tune decides which candidate is measured next; internal/find measures one; the traffic is that of `redline profile` or
// `redline llm`. Whatever happens, the server gets its own configuration back.
package tune

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/option"
)

// The traffic.
const (
	ofProfile = "profile"
	ofLLM     = "llm"
)

// Run is `redline tune`.
func Run(p *command.IO, args []string) (int, error) {
	what := ofProfile
	if len(args) > 0 && (args[0] == ofProfile || args[0] == ofLLM || isScenario(args[0])) {
		what, args = args[0], args[1:]
	}
	if len(args) == 0 && !isScenario(what) {
		return 0, command.Usage(errors.New("name the model and an objective, such as -m resnet50 --slo 'p99<50ms'"))
	}
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	o := defaults()
	o.table = &option.Table{Rows: o.rows(), Secrets: p.Secrets}
	rest, err := search.Read(o.table, args)
	if err != nil {
		return 0, command.Usage(err)
	}
	list, err := sessions(p, sigs, o, what, rest)
	if faults := (faultsError{}); errors.As(err, &faults) {
		fmt.Fprintln(p.FoldedErr(), err)
		return command.ExitError, nil
	}
	if err != nil {
		return 0, command.Usage(err)
	}
	return runAll(list, o.budget)
}

func exits() []option.Exit {
	return []option.Exit{
		{Code: command.ExitOK, Meaning: "a best candidate was found and confirmed"},
		{Code: command.ExitUnstable, Meaning: "the time of --budget was over before a capacity was confirmed"},
		{Code: command.ExitAssertion, Meaning: "no candidate holds the objectives, a rule of --assert does not hold, or the run is worse than --baseline allows"},
		{Code: command.ExitInvalid, Meaning: "the client is the limit of the best candidate, or of any candidate where none holds the objectives; or the run cannot be judged"},
		{Code: command.ExitError, Meaning: "wrong options; the server cannot be reached, went away, or could not be restored; a file cannot be written"},
		{Code: command.ExitInterrupted, Meaning: "interrupted; what was measured is reported"},
	}
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Exits: exits(), Rows: defaults().rows(), Words: []string{ofProfile, ofLLM}, Intro: `Usage: redline tune [profile] -m MODEL [-m MODEL ...] --slo RULE [options] [options of redline profile]
       redline tune SCENARIO.yaml [--slo RULE] [options] [options of redline profile]
       redline tune llm -m MODEL --slo RULE --apply COMMAND --vary NAME=VALUES [options] [options of redline llm]

Searches for the configuration of a model that takes the highest load while every objective holds, and prints it as a
config.pbtxt. Candidates are loaded through the server's model control (Triton: --model-control-mode=explicit); the
server has its own configuration again at the end. Options that are not listed here are those of 'redline profile' or
'redline llm', except for those that set the load or its duration. docs/tune.md is the manual.
`, Examples: `  redline tune -m resnet50 -u gpu:8001 -i grpc --slo 'p99<50ms'
      vary what the model's configuration has
  redline tune -m resnet50 --slo 'p99<50ms' --vary instances=1..4 --vary max_batch=1,2,4..64 --vary queue_delay=0,1ms
  redline tune -m resnet50 -u gpu:8000 --slo 'p99<50ms' --vary batch=1,2,4..32 --vary shared-memory=none,system
      vary what the client chooses
  redline tune -m detect -m classify --weights 1,3 --slo 'p99<50ms' --vary detect.instances=1..4
      two models of one server together: three of four requests go to classify
  redline tune llm -m llama --streaming --slo 'ttft.p99<500ms' --apply 'restart.sh {max_seqs}' --vary max_seqs=64..512
      restart a server of language models with each candidate
`}
}
