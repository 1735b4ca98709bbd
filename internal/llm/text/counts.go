package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// Counts says where token counts came from, and where they do not agree.
func Counts(w io.Writer, out *load.Outcome, color bool) {
	c := out.Collector
	fmt.Fprintf(w, "  Token counts: input by %s; output by %s\n", origins(c.Origins(metric.Inputs)), origins(c.Origins(metric.Outputs)))
	n := c.Requests()
	mark := "Warning:"
	if color {
		mark = "\x1b[33mWarning:\x1b[0m"
	}
	warn := func(k uint64, format string, args ...any) {
		if k > 0 {
			fmt.Fprintf(w, "  "+mark+" "+format+"\n", args...)
		}
	}
	warn(c.Disagree(), "the server and the tokenizer count differently, by more than 10 %%, for %d of %d requests", c.Disagree(), n)
	warn(c.Mismatched(), "%d of %d answers do not have the length asked for: min_tokens or ignore_eos in --extra-inputs may help", c.Mismatched(), n)
	warn(c.Origins(metric.Outputs)[llm.Chunks], "each chunk was taken for one token: give --tokenizer, or have the server send its counts")
	warn(out.Dropped, "%d turns were not asked, because one before them failed", out.Dropped)
}

// origins names the sources of counts.
func origins(o metric.Origins) string {
	var parts []string
	for i, n := range o {
		if n > 0 {
			parts = append(parts, llm.Origin(i).String())
		}
	}
	if len(parts) == 0 {
		return "nobody"
	}
	return strings.Join(parts, " and ")
}
