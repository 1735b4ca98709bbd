package command

import (
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/option"
)

// Exit codes. They are perf_analyzer's, so that scripts written for perf_analyzer work.
const (
	ExitOK          = 0
	ExitUnstable    = 2
	ExitNoRequests  = 3
	ExitAssertion   = 4 // a rule of --assert does not hold, or the run is worse than the baseline
	ExitInvalid     = 5 // rules or a baseline were given, and the run cannot be judged
	ExitError       = 99
	ExitInterrupted = 130
	ExitPipe        = 141 // the reader of standard output has gone; a shell reports SIGPIPE with this code
)

// Exit codes of simple and stress. They are those of the Python programs that these commands replace.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

// Exits describes exit codes of a command that measures, for its help.
func Exits(codes ...int) []option.Exit {
	meaning := map[int]string{
		ExitOK:          "the run did what was asked",
		ExitUnstable:    "the only or first level did not become stable",
		ExitNoRequests:  "no request ended within a window: use longer windows",
		ExitAssertion:   "a rule of --assert does not hold, or the run is worse than --baseline allows",
		ExitInvalid:     "rules or a baseline were given, and the run cannot be judged",
		ExitError:       "any other error: wrong options, no connection, unknown model, too many failed requests, a file that cannot be written",
		ExitInterrupted: "interrupted; what was measured is reported",
	}
	return convert.All(codes, func(code int) option.Exit { return option.Exit{Code: code, Meaning: meaning[code]} })
}

// CheckExits describes the exit codes of simple and stress.
func CheckExits() []option.Exit {
	return append([]option.Exit{
		{Code: ExitOK, Meaning: "every response was right"},
		{Code: ExitFailed, Meaning: "a request failed, or a response was wrong"},
		{Code: ExitUsage, Meaning: "wrong options"},
	}, Exits(ExitAssertion, ExitInvalid, ExitError, ExitInterrupted)...)
}
