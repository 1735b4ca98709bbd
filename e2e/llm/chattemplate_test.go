package llm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
)

// With --apply-chat-template the prompt of a completion is the rendered conversation, and its tokens are counted as the
// server counts them. e2e/tokenizer does the same with the templates of real models.
func TestChatTemplateOfCompletions(t *testing.T) {
	r := serve(t, "--ttft", "1ms", "--itl", "0s")
	tok := testkit.ChatTokenizer(t)
	f := func(isl float64, args ...string) {
		t.Helper()
		dir := t.TempDir()
		r.llm(t, append([]string{
			"--endpoint-type", "completions", "--tokenizer", tok, "--apply-chat-template", "--osl", "3", "--request-count", "12", "--concurrency", "2",
			"--artifact-dir", dir, "--exports", "records",
		}, args...)...)
		text, err := os.ReadFile(filepath.Join(dir, "profile_export.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			var record struct {
				Metrics map[string]struct{ Value float64 }
			}
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			n++
			client, server := record.Metrics["input_sequence_length"].Value, record.Metrics["usage_prompt_tokens"].Value
			// The server counts words, and not the <s> that the tokenizer puts before them.
			if client != server+1 || isl > 0 && client != isl {
				t.Errorf("%v: %g tokens, the server counts %g words", args, client, server)
			}
		}
		if n != 12 {
			t.Errorf("%v: %d records", args, n)
		}
	}
	f(40, "--isl", "40")
	f(42, "--isl", "40", "--system-prompt", "be brief")
	f(0, "--isl", "30", "--system-prompt", "be brief", "--conversation-turn-mean", "3")
	f(0, "--input-file", r.prompts(t, 12))
}
