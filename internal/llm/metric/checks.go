package metric

import (
	"math"

	"github.com/redline-bench/redline/internal/llm"
)

// discrepancy is the allowed difference between the server's count and ours, in percent.
const discrepancy = 10

// checks are the token counts and lengths that need an explanation.
type checks struct {
	implausible            uint64 // counts of the server that cannot be true
	longer, shorter, ended Mismatch
	prompts                Prompts
}

// Mismatch are responses that do not have the requested length.
type Mismatch struct {
	Requests   uint64
	got, asked float64
}

// Got and Asked are the mean lengths of the responses.
func (l *Mismatch) Got() float64 { return l.got / float64(max(1, l.Requests)) }

// Asked is the mean of the requested lengths.
func (l *Mismatch) Asked() float64 { return l.asked / float64(max(1, l.Requests)) }

func (l *Mismatch) add(got, asked float64) {
	l.Requests++
	l.got += got
	l.asked += asked
}

// Prompts compares the prompts as the server counted them with the tokenizer.
type Prompts struct {
	Checked uint64 // requests that were compared
	// More and Fewer are requests for which the server counts more tokens than the prompt has with the chat template, or fewer.
	More, Fewer uint64
	added       float64 // by the template, in Explained requests
	Explained   uint64
}

// Added is the mean number of tokens that the chat template adds to a prompt.
func (p *Prompts) Added() float64 { return p.added / float64(max(1, p.Explained)) }

func (p *Prompts) add(s *llm.Sample) {
	if s.Own == nil || s.Usage == nil || s.Usage.Prompt < 0 || s.Input.From != llm.Tokenizer {
		return
	}
	// Without the rendered prompt, nothing is known of the template but that it adds.
	server, least, most := float64(s.Usage.Prompt), float64(s.Input.Tokens), math.Inf(1)
	if s.Own.Prompt >= 0 {
		least, most = float64(s.Own.Prompt), float64(s.Own.Prompt)
	}
	p.Checked++
	switch {
	case server < least*(1-discrepancy/100.0):
		p.Fewer++
	case server > most*(1+discrepancy/100.0):
		p.More++
	case s.Own.Prompt >= 0:
		p.Explained++
		p.added += server - float64(s.Input.Tokens)
	}
}

func (c *checks) add(s *llm.Sample, v *Values) {
	if s.Implausible {
		c.implausible++
	}
	c.prompts.add(s)
	got, allowed := v[OutputLength], 0.0
	switch {
	case s.Output.From == llm.Chunks:
		return // a guess
	case s.Output.From == llm.Tokenizer && s.Usage != nil && s.Usage.Completion >= 0 && !s.Implausible:
		got = float64(s.Usage.Completion)
	case s.Output.From == llm.Tokenizer:
		allowed = discrepancy // a tokenizer may join what a model wrote as two tokens
	}
	switch {
	case !mismatch(got, v[Asked]) || math.Abs(got-v[Asked]) <= allowed/100*v[Asked]:
	case got > v[Asked]:
		c.longer.add(got, v[Asked])
	case s.AtLimit:
		c.ended.add(got, v[Asked])
	default:
		c.shorter.add(got, v[Asked])
	}
}

// mismatch reports whether the length of a response differs from the requested one: by more than 5 % or 50 tokens, as in AIPerf.
func mismatch(got, asked float64) bool {
	d := math.Abs(got - asked)
	return d > 0.05*asked || d > 50
}

// Longer are the responses with more tokens than requested.
func (c *Collector) Longer() Mismatch { return c.checks.longer }

// Shorter are the responses that the model ended before the requested length.
func (c *Collector) Shorter() Mismatch { return c.checks.shorter }

// Ended are the responses that the server ended at a limit of its own before the requested length.
func (c *Collector) Ended() Mismatch { return c.checks.ended }

// Prompts compares the server's counts of prompts with the tokenizer's.
func (c *Collector) Prompts() Prompts { return c.checks.prompts }

// Implausible is the number of responses whose count by the server cannot be true.
func (c *Collector) Implausible() uint64 { return c.checks.implausible }
