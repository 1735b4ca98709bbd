// Package find is `redline find`: it searches for the highest load at which a server holds its objectives. The traffic is that
// of `redline profile` or `redline llm`; internal/find decides which loads to send.
package find

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// target is the traffic of a command, as loads that a search chooses. llm.Prober and profile.Prober are targets.
type target interface {
	// Start does everything up to the first request and connects out, which gets the requests; Close ends the connections.
	Start(io *command.IO, sigs *command.Signals, out *outcome.Outcome) error
	Close()
	// Run sends one load until watch ends it, and waits for the requests in flight: at most drain, then they are canceled.
	Run(ctx context.Context, lv result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error
	// Outcome is what becomes of the result, and the file of --json. Arguments are the options without secrets.
	Outcome() (o plan.Outcome, json string)
	Arguments() []string
	// Sample has every number that a rule can be about.
	Sample() *gate.Sample
	// Plan, Describe and MaxErrorRate are for the result. Describe returns a hash of what is sent.
	Plan() *plan.Plan
	Describe(res *result.Result) (workload string)
	MaxErrorRate() float64
	// Advise says in one line what went wrong, where, and what to do.
	Advise(err error) string
}

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
		return 0, err
	}
	s := &session{IO: p, sigs: sigs, opts: o, what: what, target: t}
	if s.tiers, err = o.objectives(); err == nil {
		err = find.CheckObjectives(s.tiers, t.Sample())
	}
	if err != nil {
		return 0, command.Usage(err)
	}
	return s.run()
}

// open reads the options of the traffic.
func open(p *command.IO, what string, o *options, rest []string) (target, error) {
	if what == "profile" {
		if o.by == byUsers {
			return nil, command.Usage(errors.New("--by users needs conversations: use 'redline find llm', or --by concurrency"))
		}
		t, err := profile.NewProber(p, rest, o.by == byRate)
		if err != nil {
			return nil, command.Usage(err)
		}
		return t, nil
	}
	t, err := llm.NewProber(p, rest)
	if err != nil {
		return nil, command.Usage(err)
	}
	if o.by == byUsers && !t.Pauses() {
		return nil, command.Usage(errors.New("--by users needs pauses between turns: add --think-time, or --conversation-turn-mean and --conversation-turn-delay-mean, or use --by concurrency"))
	}
	return t, nil
}

// exits are the exit codes as they are meant here.
func exits() []option.Exit {
	return []option.Exit{
		{Code: command.ExitOK, Meaning: "a capacity was found, or all objectives hold at the highest load"},
		{Code: command.ExitUnstable, Meaning: "the time of --budget was over before the answer"},
		{Code: command.ExitAssertion, Meaning: "an objective fails even at the lowest load, or a rule of --assert does not hold"},
		{Code: command.ExitInvalid, Meaning: "the client is the limit, not the server"},
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
