package flags

import (
	"cmp"
	"math"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/segment"
)

func (r *raw) loadRows() []option.Row {
	load := &r.plan.Load
	levels, concurrencies, rates := "START[:END[:STEP]]", "", ""
	if !r.compat {
		levels, concurrencies, rates = "START[:END[:STEP]]|LIST", "; a list, such as 1,4,16, has a level for each number", "; a list, such as 50,100,400, has a level for each rate"
	}
	return option.Group("Load", []option.Row{
		{
			Long: "concurrency-range", Arg: levels, Default: "1:1:1",
			Help: "closed loop: keep this number of requests in flight, one level for each number. Shows the highest throughput of " +
				"the server. END 0 continues until --latency-threshold is exceeded" + concurrencies,
			To: option.Func(r.setConcurrency),
		}, {
			Long: "request-rate-range", Arg: levels, Unit: "requests/s",
			Help: "open loop: send requests at this rate, even if earlier responses have not arrived, one level for each rate. " +
				"Shows the latency that independent users would see" + rates,
			To: option.Func(r.setRate),
		}, {
			Long: "stages", Arg: "LIST", RedlineOnly: true,
			Help: "open loop: rates of one level, one after another, with their times: \"10:30s,10-50:1m,200:5s\" is 10 requests/s for " +
				"30 s, rises from 10 to 50 in a minute, and ends with a spike of 200 for 5 s. Requests are asynchronous unless --sync is given",
			To: option.Func(r.setStages).In("s"),
		}, {
			Long: "think-time", Arg: "TIME[±SPREAD]", RedlineOnly: true,
			Help: "closed loop: wait this long after a request has ended before the next is sent in its place, such as 100ms or " +
				"100ms±20ms (uniform, drawn from --seed; +- stands for ±). No latency includes it",
			To: option.Parsed(&load.ThinkTime, pace.ParseThinkTime).In("s"),
		}, {
			Long: "request-distribution", Arg: "NAME",
			Help: "open loop: gaps between requests, constant or poisson (random, with the same mean, like real traffic)",
			To:   option.Word(&load.Distribution, plan.Poisson, plan.Constant),
		}, {
			Long: "request-intervals", Arg: "FILE",
			Help: "open loop: use the gaps between requests in this file, one number of microseconds per line, repeatedly",
			To:   option.Func(r.setIntervals),
		}, {
			Long: "latency-threshold", Short: 'l', Arg: "TIME", Default: "0, no limit",
			Help: "stop when the latency of a level exceeds this limit: finds the highest load that meets it",
			To:   r.millis(0, &r.plan.Measure.LatencyLimit),
		}, {
			Long: "binary-search",
			Help: "search the range by bisection instead of step by step. Needs -l; reaches the limit in fewer levels",
			To:   option.Func(func(string) error { load.Search = plan.Binary; return nil }),
		}, {
			Long: "async", Short: 'a',
			Help: "send requests asynchronously. Some models and modes need it; it costs no more than synchronous calls",
			To:   option.Switch(&r.async),
		}, {
			Long: "sync",
			Help: "send requests synchronously, even for sequence models, which are asynchronous by default",
			To:   option.Switch(&r.sync),
		}, {
			Long: "max-threads", Arg: "N", Default: "16, or 4 in open loop",
			Help: "limit of requests in flight in synchronous open-loop modes",
			To:   option.Int(&load.MaxThreads, 1),
		}, {
			Long: "seed", Arg: "N", RedlineOnly: true, Default: "0",
			Help: "seed of all random choices: arrivals, think times and data. Equal seeds give equal runs; change the seed to see " +
				"the effect of chance on a result",
			To: option.Uint(&load.Seed, math.MaxUint64),
		}, {
			Long: "periodic-concurrency-range", Arg: "START:END[:STEP]",
			Help: "closed loop that adds STEP requests in flight each time --request-period responses have arrived. Needs " +
				"--streaming and --profile-export-file",
			To: option.Func(r.setPeriodic),
		}, {
			Long: "request-period", Arg: "N", Unit: "responses",
			Help: "number of responses between two steps of --periodic-concurrency-range",
			To:   option.Int(&load.Period, 1),
		}, {
			Long: "session-concurrency", Arg: "N",
			Help: "openai: number of conversations at once, each with its own turns and pauses",
			To:   option.Func(r.setSessions),
		}, {
			Long: "fixed-schedule",
			Help: "send each request at its time in the input data: replays a recorded trace",
			To:   option.Func(func(string) error { return r.take(plan.FixedSchedule, "--fixed-schedule") }),
		}, {
			Long: "segment", Arg: "NUMBER/COUNT", RedlineOnly: true,
			Help: "send one part of the load: 2/5 is the second of five equal parts. Start all parts with the same options, on several " +
				"machines; together they send exactly the requests of one run without this option",
			To: option.Parsed(&r.plan.Segment, segment.Parse),
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
			Help: "start of --concurrency-range",
			To: option.Parsed(&levels.Start, func(v string) (int, error) {
				if err := r.takeOld("-t"); err != nil {
					return 0, err
				}
				n, err := level(v)
				return n, cmp.Or(err, when(n == 0, "starts at 1 or above, not %q", v))
			}),
		}, {
			Short: 'c', Arg: "N",
			Help: "end of --concurrency-range",
			To: option.Parsed(&levels.End, func(v string) (int, error) {
				if err := r.takeOld("-c"); err != nil {
					return 0, err
				}
				return level(v)
			}),
		}, {
			Short: 'd',
			Help:  "selects --concurrency-range and has no other effect",
			To:    option.Func(func(string) error { return r.takeOld("-d") }),
		}, {
			Short: 'z',
			Help:  "other name of --input-data zero",
			To: option.Func(func(string) error {
				r.warnOld("-z", "--input-data=zero")
				r.zero = true
				return nil
			}),
		}, {
			Long: "data-directory", Arg: "DIR",
			Help: "other name of --input-data with a directory",
			To: option.Func(func(v string) error {
				r.warnOld("--data-directory", "--input-data")
				r.paths = append(r.paths, v)
				return nil
			}),
		},
	})
}
