package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/secret"
)

// noCommand is the error of a word that is no command. It names the command that the user may have meant.
func noCommand(name string) error {
	name = secret.PublicURL(name)
	hint := ""
	switch instead := otherCommand(name); {
	case strings.HasPrefix(name, "-"):
		hint = "options come after the command, as in 'redline profile -m MODEL'"
	case strings.Contains(name, "://") || strings.Contains(name, ":") && !strings.Contains(name, " "):
		hint = "a command comes first: 'redline inspect -u " + name + "' lists the models of this server"
	case instead != "":
		hint = instead
	case slices.Contains(topicNames(), name):
		hint = "'redline help " + name + "' explains this task"
	default:
		if near := option.Near(name, commandNames()); len(near) > 0 {
			hint = fmt.Sprintf("did you mean 'redline %s'?", strings.Join(near, "' or 'redline "))
		}
	}
	if hint == "" {
		return fmt.Errorf("unknown command %q; run 'redline help' for the list", name)
	}
	return fmt.Errorf("unknown command %q; %s", name, hint)
}

// otherCommand returns what to write for a command of another tool, or for the name of such a tool.
func otherCommand(name string) string {
	const server, model = "use 'redline profile -m MODEL -u HOST:PORT'", "use 'redline llm -m MODEL -u HOST:PORT'"
	for _, o := range []struct{ names, instead string }{
		{"perf_analyzer perf-analyzer perf_client triton tritonserver", server},
		{"aiperf genai-perf genai_perf guidellm vllm chat completions openai", model},
		{"bench benchmark bench-serve load test measure throughput latency", server + ", or for a language model 'redline llm'"},
		{"attack hit ghz k6 vegeta oha wrk hey", server + " with --request-rate-range RATE or --concurrency-range N"},
		{"analyze sweep", "give a list of levels, as in 'redline llm --concurrency 1,4,16', --isl 100,200 or 'redline profile --concurrency-range 1:16'"},
		{"search capacity optimize slo sla", "use 'redline find profile --slo RULE' or 'redline find llm --slo RULE': it searches for the highest load that holds the rule"},
		{"synthesize", "use 'redline synthesize-trace TRACE OUTPUT'"},
		{"plot visualize view", "use 'redline report RUN' for a page with curves, 'redline dash' for all runs"},
		{"process-export-files process export", "use 'redline compare A B' or 'redline report RUN': both read files of GenAI-Perf and AIPerf"},
		{"config template init create-template", "put the options into a scenario and run it with 'redline run FILE'; 'redline inspect -u HOST:PORT -m MODEL' prints a command line that fits a model"},
		{"results runs list ls show", "use 'redline history' for the runs on this machine, 'redline report RUN' for one"},
		{"diff", "use 'redline compare A B'"},
		{"models describe info status", "use 'redline inspect -u HOST:PORT'"},
		{"check validate", "use 'redline doctor'"},
		{"server mock mock-server start", "use 'redline serve'"},
		{"tokens count tokenizer", "use 'redline tokenize'"},
	} {
		if slices.Contains(strings.Fields(o.names), name) {
			return o.instead
		}
	}
	return ""
}
