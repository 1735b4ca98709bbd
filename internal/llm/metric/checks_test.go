package metric_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
)

// collect collects one sample that change has changed.
func collect(change func(*llm.Sample)) *metric.Collector {
	c := metric.New(metric.Options{})
	s := stream(60, 70, 90, 110)
	change(s)
	c.Add(s)
	return c
}

func TestPromptsAreComparedWithTheRenderedPrompt(t *testing.T) {
	f := func(name string, input, rendered, server int, want metric.Prompts) {
		t.Helper()
		got := collect(func(s *llm.Sample) {
			s.Input = llm.Count{Tokens: input, From: llm.Tokenizer}
			s.Own, s.Usage = &llm.Own{Prompt: rendered, Output: 4}, &llm.Usage{Prompt: server, Completion: 4}
		}).Prompts()
		if added := got.Added(); got.Checked != want.Checked || got.More != want.More || got.Fewer != want.Fewer || got.Explained != want.Explained ||
			got.Explained > 0 && added != float64(server-input) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	f("the template explains it", 64, 93, 93, metric.Prompts{Checked: 1, Explained: 1})
	f("nearly", 64, 93, 95, metric.Prompts{Checked: 1, Explained: 1})
	f("another tokenizer", 64, 93, 130, metric.Prompts{Checked: 1, More: 1})
	f("a prompt that the server cut", 6400, 6430, 4096, metric.Prompts{Checked: 1, Fewer: 1})
	f("no template is known", 64, -1, 93, metric.Prompts{Checked: 1})
	f("no template is known, and the server counts fewer", 64, -1, 30, metric.Prompts{Checked: 1, Fewer: 1})
	f("no count of the server", 64, 93, -1, metric.Prompts{})
}

func TestLengthsHaveADirectionAndACause(t *testing.T) {
	f := func(name string, output llm.Count, asked int, atLimit bool, longer, shorter, ended uint64) {
		t.Helper()
		c := collect(func(s *llm.Sample) { s.Output, s.Asked, s.AtLimit = output, asked, atLimit })
		if l, s, e := c.Longer(), c.Shorter(), c.Ended(); l.Requests != longer || s.Requests != shorter || e.Requests != ended {
			t.Errorf("%s: %+v longer, %+v shorter, %+v ended by the server", name, l, s, e)
		}
	}
	server := func(n int) llm.Count { return llm.Count{Tokens: n, From: llm.Server} }
	f("as asked", server(32), 32, true, 0, 0, 0)
	f("the server ignores the limit", server(1024), 32, true, 1, 0, 0)
	f("the model ended it", server(20), 32, false, 0, 1, 0)
	f("the context was full", server(20), 32, true, 0, 0, 1)
	f("the tokenizer counts otherwise", llm.Count{Tokens: 34, From: llm.Tokenizer}, 32, true, 0, 0, 0)
	f("the tokenizer finds it longer", llm.Count{Tokens: 64, From: llm.Tokenizer}, 32, true, 1, 0, 0)
	c := collect(func(s *llm.Sample) {
		s.Output, s.Asked, s.Usage = llm.Count{Tokens: 40, From: llm.Tokenizer}, 32, &llm.Usage{Prompt: 3, Completion: 32}
	})
	if l := c.Longer(); l.Requests != 0 {
		t.Errorf("the server counted as many as asked: %+v", l)
	}
	f("a guess is no length", llm.Count{Tokens: 4, From: llm.Chunks}, 32, false, 0, 0, 0)
	f("no length was asked for", server(20), 0, false, 0, 0, 0)
}
