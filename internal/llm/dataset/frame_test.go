package dataset_test

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
)

// chatTokens counts a conversation between the marks of a template. Marks touch the texts, so that they share tokens.
func chatTokens(c *llm.Conversation, turn int, answers []string) (int, error) {
	text := "<s>"
	if c.System != "" {
		text += " <system>" + c.System + "<end>"
	}
	for i := range turn + 1 {
		if i < turn && c.Alone {
			continue
		}
		text += " <user>" + strings.Join(c.Turns[i].Texts, "\n") + "<end>"
		if i < turn {
			text += " <assistant>" + answers[i] + "<end>"
		}
	}
	return words{}.Count(text + " <assistant>"), nil
}

// Generated prompts have the requested length with the chat template; system prompts and prefixes are added to it.
func TestChatTemplateLengths(t *testing.T) {
	lengths := dataset.Lengths{Kind: dataset.Uniform, Min: 20, Max: 120, Mean: 70}
	for name, o := range map[string]dataset.Options{
		"plain":         {},
		"turns":         {Turns: dataset.Fixed(3)},
		"system":        {System: "Be brief and kind."},
		"shared system": {Prefix: dataset.Prefix{SharedSystem: 30, UserContext: 10}, Turns: dataset.Fixed(2)},
		"pool":          {Prefix: dataset.Prefix{Pool: 2, Length: 20}},
		"prefix":        {Bust: dataset.FirstTurnPrefix},
		"suffix":        {Bust: dataset.FirstTurnSuffix, Turns: dataset.Fixed(2)},
		"system prefix": {Bust: dataset.SystemPrefix},
		"batch":         {Batch: 2},
	} {
		o.Input, o.ChatTokens, o.Seed = lengths, chatTokens, 3
		s := open(t, o)
		for _, c := range take(t, s, 30) {
			answers, before := []string{}, 0
			for i := range c.Turns {
				got, _ := chatTokens(c, i, answers)
				want := c.Turns[i].InputTokens + before
				if i == 0 {
					want += words{}.Count(c.System)
				}
				if got != want {
					t.Errorf("%s: turn %d has %d tokens, not %d", name, i, got, want)
				}
				answers, before = append(answers, "so"), got+words{}.Count("so")
			}
		}
		if i := s.Describe(); i.Inexact > 0 || i.TemplateTokens == 0 {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

func TestChatTemplateOfTraces(t *testing.T) {
	path := write(t, "trace.jsonl", strings.Repeat(`{"input_length":60,"hash_ids":[1,2]}`+"\n"+`{"input_length":40,"hash_ids":[1]}`+"\n", 3)+`{"input_length":2}`+"\n")
	s := open(t, dataset.Options{Path: path, Once: true, ChatTokens: chatTokens, Trace: dataset.Trace{Block: 40}})
	list := take(t, s, 10)
	for i, c := range list[:6] {
		if n, _ := chatTokens(c, 0, nil); n != []int{60, 40}[i%2] {
			t.Errorf("request %d has %d tokens", i, n)
		}
	}
	if a, b := list[0].Turns[0].Texts[0], list[1].Turns[0].Texts[0]; !strings.HasPrefix(a, b[:len(b)/2]) {
		t.Errorf("the same block begins with %q and %q", a, b)
	}
	// A request that is shorter than the template is as short as it can be, and told.
	if n := len(strings.Fields(list[6].Turns[0].Texts[0])); n != 1 || s.Describe().Inexact != 1 {
		t.Errorf("%d words, %+v", n, s.Describe())
	}
}

func TestTooShortForTheChatTemplate(t *testing.T) {
	for _, o := range []dataset.Options{{Input: dataset.Fixed(5)}, {Pairs: "60,5:50;4,5:50"}} {
		o.ChatTokens = chatTokens
		_, err := dataset.Open(t.Context(), o, words{})
		if err == nil || !strings.Contains(err.Error(), "the chat template alone has") || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
	}
	if plain, with := open(t, dataset.Options{Input: dataset.Fixed(60)}), open(t, dataset.Options{Input: dataset.Fixed(60), ChatTokens: chatTokens}); plain.Hash() == with.Hash() {
		t.Error("the workload is the same with and without the template")
	}
}
