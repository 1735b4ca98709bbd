package load_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/service"
)

// thought is an event with reasoning.
func thought(text string) string {
	return `data: {"choices":[{"delta":{"reasoning_content":"` + text + `"}}]}` + "\n\n"
}

// counted are the samples of one response with these events.
func counted(t *testing.T, change func(*load.Config), events ...string) (s llm.Sample) {
	t.Helper()
	srv := quick()
	srv.answer = func(int64, string) ([]string, *service.Error) { return append(events, "data: [DONE]\n\n"), nil }
	cfg := config(t, srv, 1, llm.Turn{Texts: []string{"one two three"}, InputTokens: 3})
	cfg.Sample = func(x *llm.Sample) {
		s = *x
		if x.Own != nil {
			own := *x.Own
			s.Own = &own
		}
	}
	change(&cfg)
	runLevel(t, cfg, closed(1))
	return s
}

func words(text string) int { return len(strings.Fields(text)) }

// The server's count is the truth where it can be true; then the tokenizer counts, then events do.
func TestTheSourceOfACount(t *testing.T) {
	two, four := []string{token("a b "), token("c d ")}, []string{token("a "), token("b "), token("c "), token("d ")}
	f := func(name string, counting load.Counting, tokenizer bool, events []string, want llm.Count, implausible bool) {
		t.Helper()
		s := counted(t, func(cfg *load.Config) {
			cfg.Counting = counting
			if tokenizer {
				cfg.Count = words
			}
		}, events...)
		if s.Output != want || s.Implausible != implausible {
			t.Errorf("%s: %d from %s, implausible %v; want %d from %s", name, s.Output.Tokens, s.Output.From, s.Implausible, want.Tokens, want.From)
		}
	}
	with := func(events []string, n int) []string { return append(slices.Clip(events), usage(3, n)) }
	f("server and tokenizer", load.ServerFirst, true, with(two, 5), llm.Count{Tokens: 5, From: llm.Server}, false)
	f("no count of the server", load.ServerFirst, true, two, llm.Count{Tokens: 4, From: llm.Tokenizer}, false)
	f("no count at all", load.ServerFirst, false, two, llm.Count{Tokens: 2, From: llm.Chunks}, false)
	f("zero tokens with text", load.ServerFirst, true, with(two, 0), llm.Count{Tokens: 4, From: llm.Tokenizer}, true)
	f("one token for four events", load.ServerFirst, true, with(four, 1), llm.Count{Tokens: 4, From: llm.Tokenizer}, true)
	f("two tokens for four events", load.ServerFirst, true, with(four, 2), llm.Count{Tokens: 2, From: llm.Server}, false)
	f("an impossible count without a tokenizer", load.ServerFirst, false, with(four, 1), llm.Count{Tokens: 4, From: llm.Chunks}, true)
	f("the server, whatever it says", load.ServerAlways, true, with(four, 1), llm.Count{Tokens: 1, From: llm.Server}, true)
	f("the tokenizer first", load.TokenizerFirst, true, with(two, 5), llm.Count{Tokens: 4, From: llm.Tokenizer}, false)
	f("the tokenizer first, without one", load.TokenizerFirst, false, with(two, 5), llm.Count{Tokens: 5, From: llm.Server}, false)
}

// Answer and reasoning always have the server's sum; where it does not divide it, the tokenizer does, or the events.
func TestReasoningIsAPartOfTheServersCount(t *testing.T) {
	events := []string{thought("t1 t2 "), thought("t3 t4 "), thought("t5 t6 "), token("a b ")}
	detailed := func(reasoning string) string {
		return `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":16,"completion_tokens_details":{"reasoning_tokens":` + reasoning + `}}}` + "\n\n"
	}
	f := func(name string, tokenizer bool, last string, output, reasoning llm.Count) {
		t.Helper()
		list := slices.Clip(events)
		if last != "" {
			list = append(list, last)
		}
		s := counted(t, func(cfg *load.Config) {
			if tokenizer {
				cfg.Count = words
			}
		}, list...)
		if s.Output != output || s.Reasoning != reasoning {
			t.Errorf("%s: output %+v, reasoning %+v; want %+v, %+v", name, s.Output, s.Reasoning, output, reasoning)
		}
	}
	server := func(n int) llm.Count { return llm.Count{Tokens: n, From: llm.Server} }
	f("the server divides it", true, detailed("10"), server(6), server(10))
	f("the server says 0", true, detailed("0"), server(4), llm.Count{Tokens: 12, From: llm.Tokenizer})
	f("more than all", true, detailed("20"), server(4), llm.Count{Tokens: 12, From: llm.Tokenizer})
	f("the server does not say it", true, usage(3, 16), server(4), llm.Count{Tokens: 12, From: llm.Tokenizer})
	f("nor is there a tokenizer", false, usage(3, 16), server(4), llm.Count{Tokens: 12, From: llm.Chunks})
	f("no count of the server", true, "", llm.Count{Tokens: 2, From: llm.Tokenizer}, llm.Count{Tokens: 6, From: llm.Tokenizer})
}

// The input is the prompt as it was asked for. What the server saw is compared with the rendered prompt.
func TestTheLengthOfAPrompt(t *testing.T) {
	f := func(name string, change func(*load.Config), want llm.Count, rendered int) {
		t.Helper()
		s := counted(t, change, token("a "), usage(12, 1))
		got := -1
		if s.Own != nil {
			got = s.Own.Prompt
		}
		if s.Input != want || got != rendered {
			t.Errorf("%s: %+v, rendered %d; want %+v, %d", name, s.Input, got, want, rendered)
		}
	}
	count := func(cfg *load.Config) { cfg.Count = words }
	f("tokenizer", count, llm.Count{Tokens: 3, From: llm.Tokenizer}, -1)
	f("tokenizer with a template", func(cfg *load.Config) {
		count(cfg)
		cfg.Rendered = func(q *endpoint.Request) (int, error) { return words(q.Conversation.Turns[0].Texts[0]) + 9, nil }
	}, llm.Count{Tokens: 3, From: llm.Tokenizer}, 12)
	f("no tokenizer", func(*load.Config) {}, llm.Count{Tokens: 12, From: llm.Server}, -1)
	f("no tokenizer, a template of known length", func(cfg *load.Config) { cfg.Template = func() llm.Template { return llm.Template{First: 9} } }, llm.Count{Tokens: 3, From: llm.Server}, -1)
	f("the server's count wanted", func(cfg *load.Config) { count(cfg); cfg.Counting = load.ServerAlways }, llm.Count{Tokens: 12, From: llm.Server}, -1)
}
