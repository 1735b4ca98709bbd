package flags

import (
	"cmp"
	"strings"

	"github.com/redline-bench/redline/internal/option"
)

// Command describes redline profile, or perf_analyzer that was started under the name argv0.
func Command(program Program, argv0 string) option.Command {
	if program == Redline {
		return option.Command{Name: "profile", Rows: Rows(program), Intro: profileIntro, Examples: embeddedExample + examples("redline profile"), Outro: writing, Common: []string{
			"m", "u", "i", "concurrency-range", "request-rate-range", "latency-threshold", "measurement-interval", "request-count", "input-data", "report",
		}}
	}
	intro := strings.Replace(perfAnalyzerIntro, "perf_analyzer", cmp.Or(argv0, "perf_analyzer"), 1)
	return option.Command{Name: "perf_analyzer", Rows: Rows(program), Intro: intro, Examples: examples("perf_analyzer"), Outro: writing, Exits: []option.Exit{
		{Code: 0, Meaning: "done"},
		{Code: 2, Meaning: "a level did not become stable"},
		{Code: 3, Meaning: "no valid request in a window"},
		{Code: 99, Meaning: "any other error"},
		{Code: 130, Meaning: "interrupted; what was measured is reported"},
	}}
}

const perfAnalyzerIntro = `Usage: perf_analyzer [options]

Loads an inference server and reports throughput and latency of each load level. This is Redline in
perf_analyzer mode, with perf_analyzer's options, output and exit codes.
`

const profileIntro = `Usage: redline profile -m MODEL [options]

Loads an inference server and reports throughput, latency, failures and client health of each load
level. It has perf_analyzer's options and some of its own. Times and sizes take units, such as
250ms, 5s or 64KiB.
`

const embeddedExample = `  redline profile --embedded -m simple -i grpc --concurrency-range 1:4
      try it out: no server needed
`

// writing is how options are written.
const writing = `A long option may be abbreviated if the abbreviation is unique. A value follows after a space or an
equals sign. Short options without a value may share one dash.
`

// examples are command lines of the program.
func examples(program string) string {
	return strings.ReplaceAll(`  PROGRAM -m resnet50 -i grpc --concurrency-range 1:16
      measure throughput and latency at concurrency 1 to 16
  PROGRAM -m resnet50 --request-rate-range 100:500:100 --request-distribution poisson
      measure the latency that users see at 100, 200, ... 500 requests per second
  PROGRAM -m resnet50 --concurrency-range 1:256 --binary-search -l 50 --percentile 99
      find the highest load with a 99th percentile below 50 ms
  PROGRAM -m bert --input-data in.json --request-count 1000 --profile-export-file run.json
      send a thousand requests with your own data and write the times of each
`, "PROGRAM", program)
}
