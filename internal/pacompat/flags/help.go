package flags

import (
	"cmp"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// Command describes redline profile, or perf_analyzer that was started under the name argv0.
func Command(face plan.Face, argv0 string) option.Command {
	if face == plan.Redline {
		return option.Command{Name: "profile", Rows: Rows(face), Intro: profileIntro, Outro: outro(embeddedExample, "redline profile")}
	}
	intro := strings.Replace(perfAnalyzerIntro, "perf_analyzer", cmp.Or(argv0, "perf_analyzer"), 1)
	return option.Command{Name: "perf_analyzer", Rows: Rows(face), Intro: intro, Outro: outro("", "perf_analyzer")}
}

const perfAnalyzerIntro = `Usage: perf_analyzer [options]

Loads an inference server and reports throughput and latency, level by level. This is Redline in
perf_analyzer mode: same options, same output, same exit codes.
`

const profileIntro = `Usage: redline profile -m MODEL [options]

Loads an inference server and reports throughput and latency, level by level, with the failures
and the client's own health. The options are perf_analyzer's, and a few more.
`

const embeddedExample = `  redline profile --embedded -m simple -i grpc --concurrency-range 1:4
      try it on the built-in server
`

// outro is the part of the help after the options.
func outro(ownExample, program string) string {
	return strings.ReplaceAll(`A long option may be shortened as long as no other option starts with the same letters. Its value
follows after a space or an equals sign. Short options without a value may share one dash.

Exit codes
  0    done                                   3    no valid request in a window
  2    a level did not become stable          99   any other error
  130  interrupted; what was measured is reported

Examples
`+ownExample+`  PROGRAM -m resnet50 -i grpc --concurrency-range 1:16
      how throughput and latency grow with load
  PROGRAM -m resnet50 --request-rate-range 100:500:100 --request-distribution poisson
      what latency users see at 100 to 500 requests a second
  PROGRAM -m resnet50 --concurrency-range 1:256 --binary-search -l 50 --percentile 99
      the most load that keeps the 99th percentile below 50 ms
  PROGRAM -m bert --input-data in.json --request-count 1000 --profile-export-file run.json
      a thousand requests from a file, each with its times
`, "PROGRAM", program)
}
