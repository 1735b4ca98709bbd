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
			Help: "Closed loop: keep this number of requests in flight, one level for each number. Shows the highest throughput of " +
				"the server. END 0 continues until --latency-threshold is exceeded.",
			set: setConcurrency,
		}, {
			Long: "request-rate-range", Arg: "START[:END[:STEP]]", Section: Load, Unit: "requests/s",
			Help: "Open loop: send requests at this rate, even if earlier responses have not arrived, one level for each rate. " +
				"Shows the latency that independent users would see.",
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
			Help: "Open loop: gaps between requests, constant or poisson (random, with the same mean, like real traffic).",
			set: choice("--request-distribution", "Choices are 'posson' or 'constant'.",
				func(r *raw) *plan.Distribution { return &r.plan.Load.Distribution }, plan.Poisson, plan.Constant),
		}, {
			Long: "request-intervals", Arg: "FILE", Section: Load, Hint: files(),
			Help: "Open loop: use the gaps between requests in this file, one number of microseconds per line, repeatedly.",
			set:  setIntervals,
		}, {
			Long: "latency-threshold", Short: 'l', Arg: "N", Section: Load, Default: "0, no limit", Unit: "ms",
			Help: "Stop when the latency of a level exceeds this limit: finds the highest load that meets it.",
			set: millis(0, "Failed to parse --latency-threshold (-l). The value must be >= 0 msecs.",
				func(r *raw) *time.Duration { return &r.plan.Measure.LatencyLimit }),
		}, {
			Long: "binary-search", Section: Load,
			Help: "Search the range by bisection instead of step by step. Needs -l; reaches the limit in fewer levels.",
			set: func(r *raw, _ string) error {
				r.plan.Load.Search = plan.Binary
				return nil
			},
		}, {
			Long: "async", Short: 'a', Section: Load,
			Help: "Send requests asynchronously. Some models and modes need it; it costs no more than synchronous calls.",
			set:  flag(func(r *raw) *bool { return &r.async }),
		}, {
			Long: "sync", Section: Load,
			Help: "Send requests synchronously, even for sequence models, which are asynchronous by default.",
			set:  flag(func(r *raw) *bool { return &r.sync }),
		}, {
			Long: "max-threads", Arg: "N", Section: Load, Default: "16, or 4 in open loop",
			Help: "Limit of requests in flight in synchronous open-loop modes.",
			set: func(r *raw, v string) error {
				r.plan.Load.MaxThreadsSet = true
				return integer(1, "Failed to parse --max-threads. The value must be > 0.",
					func(r *raw) *int { return &r.plan.Load.MaxThreads })(r, v)
			},
		}, {
			Long: "seed", Arg: "N", Section: Load, Face: RedlineOnly, Default: "0",
			Help: "Seed of all random choices: arrivals, think times and data. Equal seeds give equal runs; change the seed to see " +
				"the effect of chance on a result.",
			set: setSeed,
		}, {
			Long: "periodic-concurrency-range", Arg: "START:END[:STEP]", Section: Load,
			Help: "Closed loop that adds STEP requests in flight each time --request-period responses have arrived. Needs " +
				"--streaming and --profile-export-file.",
			set: setPeriodic,
		}, {
			Long: "request-period", Arg: "N", Section: Load, Default: "10", Unit: "responses",
			Help: "Number of responses between two steps of --periodic-concurrency-range.",
			set: integer(1, "Failed to parse --request-period. The value must be > 0",
				func(r *raw) *int { return &r.plan.Load.Period }),
		}, {
			Long: "session-concurrency", Arg: "N", Section: Load,
			Help: "openai: number of conversations at once, each with its own turns and pauses.",
			set:  setSessions,
		}, {
			Long: "fixed-schedule", Section: Load,
			Help: "Send each request at its time in the input data: replays a recorded trace.",
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
			Help: "Start of --concurrency-range.",
			set: func(r *raw, v string) (err error) {
				if err := r.takeOld("-t", true); err != nil {
					return err
				}
				r.plan.Load.Concurrency.Start, err = level(v)
				return err
			},
		}, {
			Short: 'c', Arg: "N", Section: Deprecated,
			Help: "End of --concurrency-range.",
			set: func(r *raw, v string) (err error) {
				if err := r.takeOld("-c", true); err != nil {
					return err
				}
				r.plan.Load.Concurrency.End, err = bound(v)
				return err
			},
		}, {
			Short: 'd', Section: Deprecated,
			Help: "Selects --concurrency-range and has no other effect.",
			set:  func(r *raw, _ string) error { return r.takeOld("-d", false) },
		}, {
			Short: 'z', Section: Deprecated,
			Help: "Other name of --input-data zero.",
			set: func(r *raw, _ string) error {
				r.warnDeprecated("-z", "--input-data=zero")
				r.zero = true
				return nil
			},
		}, {
			Long: "data-directory", Arg: "DIR", Section: Deprecated, Hint: dirs(),
			Help: "Other name of --input-data with a directory.",
			set: func(r *raw, v string) error {
				r.warnDeprecated("--data-directory", "--input-data")
				r.paths = append(r.paths, v)
				return nil
			},
		},
	}
}
