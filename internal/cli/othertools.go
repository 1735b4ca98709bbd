package cli

// otherTools says what to use instead of commands of AIPerf and GenAI-Perf.
var otherTools = map[string]string{
	"analyze":              "give the levels as a list, as in 'redline llm --concurrency 1,2,4', --request-rate 10,20 or --isl 100,200",
	"plot":                 "use 'redline report' for a page with charts of one run or two, 'redline dash' for all",
	"config":               "put the options into a scenario and run it with 'redline run FILE'",
	"create-template":      "put the options into a scenario and run it with 'redline run FILE'",
	"process-export-files": "use 'redline compare' or 'redline report' with the folders of the runs",
	"synthesize":           "use 'redline synthesize-trace TRACE OUTPUT'",
}
