// Package find is `redline find`: it searches for the highest load at which a server holds its objectives. The traffic is that
// of `redline profile` or `redline llm`; internal/find decides which loads to send.
package find

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/option"
)

// Run is `redline find`.
func Run(p *command.IO, args []string) (int, error) {
	if len(args) == 0 {
		return 0, command.Usage(errors.New("name the traffic to send: 'profile' or 'llm'"))
	}
	what := args[0]
	switch what {
	case "-h", "--help":
		return 0, option.ErrHelp
	case "profile", "llm":
	default:
		return 0, command.Usage(fmt.Errorf("unknown argument %q; the traffic comes first: 'profile' or 'llm'", what))
	}
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	o, rest, err := read(args[1:], p.Secrets)
	if err != nil {
		return 0, command.Usage(err)
	}
	t, err := open(p, what, o, rest)
	if err != nil {
		return 0, command.Usage(err)
	}
	s := &session{IO: p, sigs: sigs, opts: o, what: what, traffic: t}
	if s.tiers, err = o.objectives(); err == nil {
		err = find.CheckObjectives(s.tiers, t.Sample())
	}
	if err != nil {
		return 0, command.Usage(err)
	}
	return s.run()
}

// open reads the options of the traffic.
func open(p *command.IO, what string, o *options, rest []string) (search.Traffic, error) {
	if what == "profile" {
		if o.by == byUsers {
			return nil, errors.New("--by users needs conversations: use 'redline find llm', or --by concurrency")
		}
		return profile.NewProber(p, rest, o.by == byRate)
	}
	t, err := llm.NewProber(p, rest)
	if err == nil && o.by == byUsers && !t.Pauses() {
		err = errors.New("--by users needs pauses between turns: add --think-time, or --conversation-turn-mean and --conversation-turn-delay-mean, or use --by concurrency")
	}
	return t, err
}

// exits are the exit codes as they are meant here.
func exits() []option.Exit {
	return []option.Exit{
		{Code: command.ExitOK, Meaning: "a load held; the answer says how sure it is"},
		{Code: command.ExitUnstable, Meaning: "the time of --budget was over before any load held"},
		{Code: command.ExitAssertion, Meaning: "an objective fails even at the lowest load, a rule of --assert does not hold, or the capacity is below --baseline"},
		{Code: command.ExitInvalid, Meaning: "the client is the limit and no load held, or --assert or --baseline cannot be judged"},
		{Code: command.ExitError, Meaning: "any other error: wrong options, no connection, the server stopped answering"},
		{Code: command.ExitInterrupted, Meaning: "interrupted; what was found so far is reported"},
	}
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Exits: exits(), Rows: defaults().rows(), Words: []string{"profile", "llm"}, Intro: `Usage: redline find profile --slo RULE [options] [options of redline profile]
       redline find llm --slo RULE [options] [options of redline llm]

Searches for the highest load at which every objective holds, and says how sure the answer is. Options that are not
listed here are those of 'redline profile' or 'redline llm', except for those that set the load or its duration: the
search chooses them. docs/find.md is the manual.
`, Examples: `  redline find llm --embedded -m mock-llm --streaming --slo 'ttft.p90<100ms' --highest 20 --confirm 10s
      try it out: no server needed
  redline find profile -m resnet50 -u gpu:8001 -i grpc --slo 'p99<50ms' --slo 'error_rate<0.1%'
  redline find llm -m llama -u gpu:8000 --streaming --slo 'ttft.p99<200ms' --slo 'itl.p95<20ms'
  redline find llm -m llama --streaming --by users --think-time 5s --tier 'a: ttft.p95<1s' --tier 'b: ttft.p95<5s'
      the most users for each tier
  redline find profile -m resnet50 --preset mlperf-server --slo 'p99<15ms'
`}
}
