package flags

import (
	"math"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

func (r *raw) loadRows() []option.Row {
	load := &r.plan.Load
	return option.Group("Load: how hard, and when", []option.Row{
		{
			Long: "concurrency-range", Arg: "START[:END[:STEP]]", Default: "1:1:1",
			Help: "closed loop: hold this many requests in flight, level by level. Shows how much the server can do. With END 0 " +
				"the load rises until --latency-threshold is passed",
			To: option.Func(r.setConcurrency),
		}, {
			Long: "request-rate-range", Arg: "START[:END[:STEP]]", Unit: "requests/s",
			Help: "open loop: send at this rate whether or not responses come, level by level, as independent users would. " +
				"Shows the latency that users see",
			To: option.Func(r.setRate),
		}, {
			Long: "think-time", Arg: "DURATION[±SPREAD]", RedlineOnly: true, Default: "0s",
			Help: "closed loop: wait this long after a request has ended before the next is sent in its place, such as 100ms or " +
				"100ms±20ms (uniform, drawn from --seed; +- stands for ±). No latency includes it",
			To: option.Parsed(&load.ThinkTime, pace.ParseThinkTime),
		}, {
			Long: "request-distribution", Arg: "NAME",
			Help: "open loop: constant keeps even gaps between requests; poisson has random ones with the same mean, as real " +
				"traffic does",
			To: choice(r, "--request-distribution", "Choices are 'posson' or 'constant'.",
				&load.Distribution, plan.Poisson, plan.Constant),
		}, {
			Long: "request-intervals", Arg: "FILE",
			Help: "open loop: replay the gaps in this file, one number of microseconds a line, over and over",
			To:   option.Func(r.setIntervals),
		}, {
			Long: "latency-threshold", Short: 'l', Arg: "N", Default: "0, no limit", Unit: "ms",
			Help: "stop raising the load once a level's latency is above this: finds the highest load that keeps this latency",
			To:   millis(0, "Failed to parse --latency-threshold (-l). The value must be >= 0 msecs.", &r.plan.Measure.LatencyLimit),
		}, {
			Long: "binary-search",
			Help: "halve the range at each level instead of walking through it. Needs -l, and gets to the limit in fewer levels",
			To:   option.Func(func(string) error { load.Search = plan.Binary; return nil }),
		}, {
			Long: "async", Short: 'a',
			Help: "call asynchronously. Here it costs the same as synchronous calls; some models and modes ask for it",
			To:   option.Switch(&r.async),
		}, {
			Long: "sync",
			Help: "call synchronously, also for sequence models, which are asynchronous otherwise",
			To:   option.Switch(&r.sync),
		}, {
			Long: "max-threads", Arg: "N", Default: "16, or 4 in open loop",
			Help: "how many requests synchronous open-loop modes may have in flight",
			To:   integer(1, "Failed to parse --max-threads. The value must be > 0.", &load.MaxThreads),
		}, {
			Long: "seed", Arg: "N", RedlineOnly: true,
			Help: "seeds all that is random: arrivals, think times and data. The same seed gives the same run; change it to see how much " +
				"chance there is in a result",
			To: option.Uint(&load.Seed, math.MaxUint64),
		}, {
			Long: "periodic-concurrency-range", Arg: "START:END[:STEP]",
			Help: "closed loop that adds STEP requests each time --request-period responses have come. Needs --streaming and " +
				"--profile-export-file",
			To: option.Func(r.setPeriodic),
		}, {
			Long: "request-period", Arg: "N", Unit: "responses",
			Help: "the number of responses between two steps of --periodic-concurrency-range",
			To:   integer(1, "Failed to parse --request-period. The value must be > 0", &load.Period),
		}, {
			Long: "session-concurrency", Arg: "N",
			Help: "openai: hold this many conversations open, each with its own turns and pauses",
			To:   option.Func(r.setSessions),
		}, {
			Long: "fixed-schedule",
			Help: "send each request at the time that the input data gives it: replays a recorded trace",
			To:   option.Func(func(string) error { return r.take(plan.FixedSchedule, false) }),
		}, {
			Long: "enable-mpi",
			Help: "start levels together with the other ranks of an MPI job, to load several models at once",
			To:   option.Switch(&load.MPI),
		},
	})
}

func (r *raw) deprecatedRows() []option.Row {
	levels := &r.plan.Load.Concurrency
	return option.Group("Deprecated, kept for old scripts", []option.Row{
		{
			Short: 't', Arg: "N",
			Help: "the start of --concurrency-range",
			To: option.Parsed(&levels.Start, func(v string) (int, error) {
				if err := r.takeOld("-t", true); err != nil {
					return 0, err
				}
				return level(v)
			}),
		}, {
			Short: 'c', Arg: "N",
			Help: "the end of --concurrency-range",
			To: option.Parsed(&levels.End, func(v string) (int, error) {
				if err := r.takeOld("-c", true); err != nil {
					return 0, err
				}
				return bound(v)
			}),
		}, {
			Short: 'd',
			Help:  "chooses --concurrency-range",
			To:    option.Func(func(string) error { return r.takeOld("-d", false) }),
		}, {
			Short: 'z',
			Help:  "use --input-data zero instead",
			To: option.Func(func(string) error {
				r.warnDeprecated("-z", "--input-data=zero")
				r.zero = true
				return nil
			}),
		}, {
			Long: "data-directory", Arg: "DIR",
			Help: "use --input-data DIR instead",
			To: option.Func(func(v string) error {
				r.warnDeprecated("--data-directory", "--input-data")
				r.paths = append(r.paths, v)
				return nil
			}),
		},
	})
}
