package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/option"
)

// quantity matches names and values of options that look like a time or a size.
var quantity = regexp.MustCompile(`(?i)\b(time|duration|seconds|ms|size|bytes|timeout|interval|delay|period|wait|offset|cooldown|settle|probe|budget|confirm|ttft|itl|memory)\b`)

// counts are options that look like a time or a size and are something else.
var counts = []string{
	"audio-batch-size", "batch-size", "batch-size-text", "image-batch-size", "video-batch-size", // inferences, texts, files
	"block-size", "isl-block-size", "num-prefix-prompts", // tokens, prompts
	"request-period", "num-warmup", "prefill-concurrency", "warmup-prefill-concurrency", // responses, requests
	"conversation-turn-delay-ratio", "shared-memory", "wait-for-model-mode", // a factor, words
	"fault", // the reference server's own format: its time must have a unit
}

// forms are options whose value contains a time besides other parts.
var forms = map[string]string{"goodput": "ttft:%s", "assert": "p99<%s", "delay": "simple=%s", "stages": "10:%s", "concurrency-stages": "8:%s"}

// Every option of every command that is a time or a size takes units, and its help names the unit of a bare number.
func TestEveryTimeAndSizeTakesUnits(t *testing.T) {
	times, sizes := 0, 0
	for _, c := range described() {
		for _, row := range c.Rows {
			if row.Instead != "" || row.Arg == "" || slices.ContainsFunc(row.Keys(), func(key string) bool { return slices.Contains(counts, key) }) {
				continue
			}
			name := fmt.Sprintf("redline %s %s", c.Name, row.Name())
			help := (&option.Command{Rows: []option.Row{row}}).Help(100)
			help = strings.Join(strings.Fields(help), " ")
			looks := quantity.MatchString(strings.ReplaceAll(strings.Join(row.Keys(), " "), "-", " ")) || quantity.MatchString(row.Arg)
			switch row.To.Unit {
			case "":
				if looks && row.Help != "has no effect here" && !strings.Contains(row.Arg, "FILE") {
					t.Errorf("%s looks like a time or a size, and takes no units:\n%s", name, help)
				}
				continue
			case "s", "ms":
				times++
				accepts(t, name, &row, "1500ms", "90s", "1m30s", "2 min", "5")
			case "bytes":
				sizes++
				accepts(t, name, &row, "64KiB", "32 MB", "4096")
			default:
				t.Errorf("%s: the unit %q is neither s, ms nor bytes", name, row.To.Unit)
			}
			if want := " without a unit is in " + row.To.Unit; !strings.Contains(help, want) {
				t.Errorf("%s: the help does not say %q:\n%s", name, want, help)
			}
		}
	}
	if times < 50 || sizes < 4 {
		t.Errorf("only %d times and %d sizes were found", times, sizes)
	}
}

func accepts(t *testing.T, name string, row *option.Row, values ...string) {
	t.Helper()
	if form := forms[row.Long]; form != "" {
		values = []string{fmt.Sprintf(form, values[0])}
	}
	for _, v := range values {
		if err := row.To.Set(v); err != nil {
			t.Errorf("%s %q: %v", name, v, err)
		}
	}
}
