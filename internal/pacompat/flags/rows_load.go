package flags

import (
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

func loadRows() []Row {
	return []Row{
		{
			Long: "concurrency-range", Arg: "START[:END[:STEP]]", Section: Load, Default: "1:1:1",
			Help: "Closed loop: hold so many requests in flight, level by level. Answers how much the server can do. END 0 goes " +
				"on until --latency-threshold is passed.",
			set: setConcurrency,
		}, {
			Long: "request-rate-range", Arg: "START[:END[:STEP]]", Section: Load, Unit: "requests/s",
			Help: "Open loop: send at this rate whether or not answers come, level by level, as independent users would. " +
				"Answers what latency they would see.",
			set: setRate,
		}, {
			Long: "think-time", Arg: "DURATION[±SPREAD]", Section: Load, Face: RedlineOnly, Default: "0s",
			Help: "Closed loop: wait this long after a request has ended before the next is sent in its place, such as 100ms or " +
				"100ms±20ms (uniform, drawn from --seed; +- stands for ±). No latency includes it.",
			set: func(r *raw, v string) (err error) {
				if r.plan.Load.ThinkTime, err = pace.ParseThinkTime(v); err != nil {
					return line("--think-time %v", err)
				}
				return nil
			},
		}, {
			Long: "request-distribution", Arg: "NAME", Section: Load, Default: "constant", Hint: values("constant", "poisson"),
			Help: "Open loop: constant keeps even gaps between requests; poisson has random ones with the same mean, as real " +
				"traffic does.",
			set: choice("--request-distribution", "Choices are 'posson' or 'constant'.",
				func(r *raw) *plan.Distribution { return &r.plan.Load.Distribution }, plan.Poisson, plan.Constant),
		}, {
			Long: "request-intervals", Arg: "FILE", Section: Load, Hint: files(),
			Help: "Open loop: replay the gaps in this file, one number of microseconds a line, over and over.",
			set:  setIntervals,
		}, {
			Long: "latency-threshold", Short: 'l', Arg: "N", Section: Load, Default: "0, no limit", Unit: "ms",
			Help: "Stop raising the load once a level's latency is above this: finds the most load that still keeps a promise.",
			set: millis(0, "Failed to parse --latency-threshold (-l). The value must be >= 0 msecs.",
				func(r *raw) *time.Duration { return &r.plan.Measure.LatencyLimit }),
		}, {
			Long: "binary-search", Section: Load,
			Help: "Halve the range at each level instead of walking through it. Needs -l, and gets to the limit in fewer levels.",
			set: func(r *raw, _ string) error {
				r.plan.Load.Search = plan.Binary
				return nil
			},
		}, {
			Long: "async", Short: 'a', Section: Load,
			Help: "Call asynchronously. Here it costs the same as synchronous calls; some models and modes ask for it.",
			set:  flag(func(r *raw) *bool { return &r.async }),
		}, {
			Long: "sync", Section: Load,
			Help: "Call synchronously, also for sequence models, which are asynchronous otherwise.",
			set:  flag(func(r *raw) *bool { return &r.sync }),
		}, {
			Long: "max-threads", Arg: "N", Section: Load, Default: "16, or 4 in open loop",
			Help: "How many requests synchronous open-loop modes may have in flight.",
			set: func(r *raw, v string) error {
				r.plan.Load.MaxThreadsSet = true
				return integer(1, "Failed to parse --max-threads. The value must be > 0.",
					func(r *raw) *int { return &r.plan.Load.MaxThreads })(r, v)
			},
		}, {
			Long: "seed", Arg: "N", Section: Load, Face: RedlineOnly, Default: "0",
			Help: "Seeds all that is random: arrivals, think times and data. The same seed gives the same run; change it to see how much " +
				"chance there is in a result.",
			set: setSeed,
		}, {
			Long: "periodic-concurrency-range", Arg: "START:END[:STEP]", Section: Load,
			Help: "Closed loop that adds STEP requests each time --request-period responses have come. Needs --streaming and " +
				"--profile-export-file.",
			set: setPeriodic,
		}, {
			Long: "request-period", Arg: "N", Section: Load, Default: "10", Unit: "responses",
			Help: "The number of responses between two steps of --periodic-concurrency-range.",
			set: integer(1, "Failed to parse --request-period. The value must be > 0",
				func(r *raw) *int { return &r.plan.Load.Period }),
		}, {
			Long: "session-concurrency", Arg: "N", Section: Load,
			Help: "openai: hold so many conversations open at once, each with its own turns and pauses.",
			set:  setSessions,
		}, {
			Long: "fixed-schedule", Section: Load,
			Help: "Send each request at the time that the input data gives it: replays a recorded trace.",
			set:  func(r *raw, _ string) error { return r.take(plan.FixedSchedule, false) },
		}, {
			Long: "enable-mpi", Section: Load,
			Help: "Start levels together with the other ranks of an MPI job, to load several models at once.",
			set:  flag(func(r *raw) *bool { return &r.plan.Load.MPI }),
		},
	}
}

func deprecatedRows() []Row {
	return []Row{
		{
			Short: 't', Arg: "N", Section: Deprecated,
			Help: "The start of --concurrency-range.",
			set: func(r *raw, v string) (err error) {
				if err := r.takeOld("-t", true); err != nil {
					return err
				}
				r.plan.Load.Concurrency.Start, err = level(v)
				return err
			},
		}, {
			Short: 'c', Arg: "N", Section: Deprecated,
			Help: "The end of --concurrency-range.",
			set: func(r *raw, v string) (err error) {
				if err := r.takeOld("-c", true); err != nil {
					return err
				}
				r.plan.Load.Concurrency.End, err = bound(v)
				return err
			},
		}, {
			Short: 'd', Section: Deprecated,
			Help: "Does nothing more than choose --concurrency-range.",
			set:  func(r *raw, _ string) error { return r.takeOld("-d", false) },
		}, {
			Short: 'z', Section: Deprecated,
			Help: "The same as --input-data zero.",
			set: func(r *raw, _ string) error {
				r.warnDeprecated("-z", "--input-data=zero")
				r.zero = true
				return nil
			},
		}, {
			Long: "data-directory", Arg: "DIR", Section: Deprecated, Hint: dirs(),
			Help: "The same as --input-data with a directory.",
			set: func(r *raw, v string) error {
				r.warnDeprecated("--data-directory", "--input-data")
				r.paths = append(r.paths, v)
				return nil
			},
		},
	}
}
