// Package search is the contract between `redline find` and `redline tune` and the commands whose traffic they send, and what these
// two share of their command lines.
package search

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// Traffic is the traffic of a command, as loads that a search chooses.
type Traffic interface {
	// Start does everything up to the first request and connects out, which gets the requests; Close ends the connections.
	Start(io *command.IO, sigs *command.Signals, out *outcome.Outcome) error
	Close()
	// Run sends one load until watch ends it, and waits for the requests in flight: at most drain, then they are canceled.
	Run(ctx context.Context, lv result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error
	// Outcome is what becomes of the result, and the file of --json. Arguments are the options without secrets.
	Outcome() (o plan.Outcome, json string)
	Arguments() []string
	// Server is the address of the server. embedded: each Start starts a server.
	Server() (address string, embedded bool)
	// Sample has every number that a rule can be about.
	Sample() *gate.Sample
	// Plan, Describe and MaxErrorRate are for the result. Describe returns a hash of what is sent.
	Plan() *plan.Plan
	Describe(res *result.Result) (workload string)
	MaxErrorRate() float64
	// Advise says in one line what went wrong, where, and what to do.
	Advise(err error) string
}

// Read splits a command line into the options of the search, which it reads into table, and those of the traffic.
func Read(table *option.Table, args []string) (rest []string, err error) {
	own, rest := option.Split(table.Rows, args)
	strays, err := table.Parse(own)
	if err == nil && len(strays) > 0 {
		err = fmt.Errorf("unexpected argument %q", strays[0])
	}
	return rest, err
}

// Stored are arguments as 'redline rerun' reads them: an option with one letter stands apart from its value.
func Stored(args []string) []string {
	var out []string
	for _, arg := range args {
		if name, value, ok := strings.Cut(arg, "="); ok && len(name) == len("-m") {
			out = append(out, name, value)
			continue
		}
		out = append(out, arg)
	}
	return out
}

// Noted is watch, and note gets every level that watch computes.
func Noted(watch measure.Watch, note func(*result.Level)) measure.Watch {
	return func(now measure.Sight) (measure.Look, bool) {
		compute := now.Level
		now.Level = func(confidence float64) (*result.Level, []result.Reason) {
			lv, reasons := compute(confidence)
			note(lv)
			return lv, reasons
		}
		return watch(now)
	}
}
