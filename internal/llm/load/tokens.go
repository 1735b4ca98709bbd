package load

import (
	"math"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
)

// Counting says which source of token counts is preferred.
type Counting uint8

// The preferences.
const (
	ServerFirst    Counting = iota // the server's counts where they can be true; input lengths by the tokenizer
	ServerAlways                   // whatever the server says, for input lengths too
	TokenizerFirst                 // the tokenizer, where there is one
)

// eventsPerToken limits how many events with text one token can make. A count of the server with fewer tokens cannot be true.
const eventsPerToken = 2

// mostChecks is how many responses of a phase are compared with the tokenizer where the server's counts are used.
const mostChecks = 100

// plausible reports whether so many tokens can have made so many events with text.
func plausible(tokens, events int) bool {
	return tokens >= 0 && (events == 0 || tokens >= 1 && tokens*eventsPerToken >= events)
}

// spoken is what one source counts in the response: tokens of the answer and of its reasoning.
type spoken struct{ text, thought int }

// tokens counts the prompt and the response of a request, and notes where each count comes from. This is the only place that decides.
func (r *levelRun) tokens(a *ask, s *llm.Sample) {
	ans := &r.answer
	if ans.Counted {
		r.usage = ans.Usage
		s.Usage = &r.usage
	}
	s.AtLimit = ans.AtLimit()
	if a.input < 0 && a.turn > 0 { // off the load's path
		var err error
		if a.input, err = r.countInput(a.conv, a.turn, a.answers); err != nil {
			a.phase.fail(err)
		}
	}
	events := eventsOf(s.Chunks)
	server := r.useServer(s, events)
	checks := r.cfg.Count != nil && r.checked < mostChecks
	own := spoken{-1, -1}
	if r.cfg.Count != nil && (checks || !server || events.thought > 0) {
		own = r.ownCount()
	}
	if checks {
		r.checked++
		r.tokenizer = llm.Own{Prompt: r.rendered(a), Output: own.text + own.thought}
		s.Own = &r.tokenizer
	}
	s.Input = r.inputCount(a, s.Usage)
	switch {
	case server:
		s.Output, s.Reasoning = split(s.Usage, events, own)
	case own.text+own.thought > 0:
		s.Output, s.Reasoning = own.counts(llm.Tokenizer)
	case ans.Streamed:
		s.Output, s.Reasoning = byChunks(s.Chunks)
	}
}

// useServer reports whether the server's count of the response is to be used.
func (r *levelRun) useServer(s *llm.Sample, events spoken) bool {
	if s.Usage == nil || s.Usage.Completion < 0 {
		return false
	}
	s.Implausible = !plausible(s.Usage.Completion, events.text+events.thought)
	switch {
	case r.cfg.Counting == ServerAlways:
		return true
	case r.cfg.Counting == TokenizerFirst && r.cfg.Count != nil:
		return false
	}
	return !s.Implausible
}

// split divides the server's count of a response into answer and reasoning: by the server's own count of the reasoning where that can be
// true, else in the proportion in which the tokenizer, or the number of events, divides it.
func split(u *llm.Usage, events, own spoken) (output, thought llm.Count) {
	total, reasoning := u.Completion, u.Reasoning
	switch {
	case reasoning >= 0 && plausible(reasoning, events.thought) && plausible(total-reasoning, events.text):
		return llm.Count{Tokens: total - reasoning, From: llm.Server}, llm.Count{Tokens: reasoning, From: llm.Server}
	case events.thought == 0:
		return llm.Count{Tokens: total, From: llm.Server}, llm.Count{}
	}
	by, from := own, llm.Tokenizer
	if own.text+own.thought <= 0 {
		by, from = events, llm.Chunks
	}
	n := int(math.Round(float64(total) * float64(by.thought) / float64(by.text+by.thought)))
	return llm.Count{Tokens: total - n, From: llm.Server}, llm.Count{Tokens: n, From: from}
}

// ownCount counts the response by the tokenizer.
func (r *levelRun) ownCount() spoken {
	ans := &r.answer
	n := spoken{text: r.cfg.Count(string(ans.Text))}
	if len(ans.Calls) > 0 {
		n.text += r.cfg.Count(string(ans.Calls))
	}
	if len(ans.Thought) > 0 {
		n.thought = r.cfg.Count(string(ans.Thought))
	}
	return n
}

// counts are the counts of one source. A response without reasoning has no count of it.
func (n spoken) counts(from llm.Origin) (output, thought llm.Count) {
	if n.thought > 0 {
		thought = llm.Count{Tokens: n.thought, From: from}
	}
	return llm.Count{Tokens: n.text, From: from}, thought
}

// eventsOf counts the events with text.
func eventsOf(chunks []llm.Chunk) (n spoken) {
	for _, c := range chunks {
		switch c.Kind {
		case llm.Thought:
			n.thought++
		case llm.Text, llm.Tool:
			n.text++
		case llm.Other:
		}
	}
	return n
}

// byChunks takes each chunk for as many tokens as it is known to carry, or for one.
func byChunks(chunks []llm.Chunk) (output, thought llm.Count) {
	from := llm.Counted
	var n spoken
	for _, c := range chunks {
		if c.Tokens == 0 {
			from = llm.Chunks // a guess
		}
		to := &n.text
		if c.Kind == llm.Thought {
			to = &n.thought
		}
		*to += int(max(1, c.Tokens))
	}
	return n.counts(from)
}

// inputCount is the length of the prompt as it was asked for: by the tokenizer, or by the server without the tokens that its chat
// template is known to add.
func (r *levelRun) inputCount(a *ask, u *llm.Usage) llm.Count {
	server := u != nil && u.Prompt > 0
	switch {
	case server && r.cfg.Counting == ServerAlways:
		return llm.Count{Tokens: u.Prompt, From: llm.Server}
	case a.input >= 0:
		return llm.Count{Tokens: a.input, From: llm.Tokenizer}
	case server:
		return llm.Count{Tokens: max(1, u.Prompt-r.template.Tokens(a.conv, a.turn)), From: llm.Server}
	}
	return llm.Count{}
}

// rendered is the number of tokens of the prompt as the server should see it; -1 where that is not known.
func (r *levelRun) rendered(a *ask) int {
	switch {
	case r.cfg.ChatTemplate != nil:
		return a.input
	case r.cfg.Rendered == nil:
		return -1
	}
	n, err := r.cfg.Rendered(&endpoint.Request{Conversation: a.conv, Turn: a.turn, Answers: a.answers, MaxTokens: a.tokens})
	if err != nil {
		return -1 // the server may have another template
	}
	return n
}
