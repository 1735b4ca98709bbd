package dataset

import (
	"fmt"

	"github.com/redline-bench/redline/internal/llm"
)

// frame has the tokens that a chat template adds to the texts of a conversation.
//
// For a first turn of n tokens, the model sees n tokens plus the system prompt and the prefix. A later turn of n tokens adds n
// tokens and the previous response to the input.
type frame struct {
	tokens func(c *llm.Conversation, turn int, answers []string) (int, error)
	text   func(text string) int
	// first and later are the template's own tokens of a first turn and of a later one.
	first, later int
	before       int // tokens of a conversation of one turn and its response, both probe
}

// probe is the text with which the template is measured.
const probe = "so"

// probed is a conversation of so many turns.
func probed(system string, turns int) *llm.Conversation {
	c := &llm.Conversation{System: system}
	for range turns {
		c.Turns = append(c.Turns, llm.Turn{Texts: []string{probe}})
	}
	return c
}

// newFrame measures the template.
func (m *maker) newFrame() (*frame, error) {
	f := &frame{tokens: m.o.ChatTokens, text: m.prose.Tokens}
	system := m.o.System + m.shared // one of them at most
	first, err := f.tokens(probed(system, 1), 0, nil)
	if err != nil {
		return nil, err
	}
	alone, err := f.tokens(probed("", 1), 0, nil)
	if err != nil {
		return nil, err
	}
	both, err := f.tokens(probed("", 2), 1, []string{probe})
	if err != nil {
		return nil, err
	}
	f.first = first - f.text(system) - f.text(probe)
	f.before = alone + f.text(probe)
	f.later = both - f.before - f.text(probe)
	return f, nil
}

// overhead is the template's own tokens of a turn; 0 without a template.
func (f *frame) overhead(first bool) int {
	switch {
	case f == nil:
		return 0
	case first:
		return f.first
	}
	return f.later
}

// counter returns a function that counts the tokens that the model sees of turn i with a text, and the required number.
func (f *frame) counter(c *llm.Conversation, i int, text *string, failed *error) (count func(text string) int, want int) {
	want = c.Turns[i].InputTokens
	var answers []string
	if i == 0 || c.Alone {
		want += f.text(c.System)
	} else {
		want += f.before
		c, i, answers = &llm.Conversation{Turns: []llm.Turn{probed("", 1).Turns[0], c.Turns[i]}}, 1, []string{probe}
	}
	return func(s string) int {
		*text = s
		n, err := f.tokens(c, i, answers)
		if err != nil {
			*failed = err
			return want // nothing is left to fit
		}
		return n
	}, want
}

// checkLengths refuses lengths of generated prompts that leave no room for a text.
func (m *maker) checkLengths() error {
	lengths := []Lengths{m.o.Input}
	if m.pairs != nil {
		lengths = lengths[:0]
		for _, p := range m.pairs {
			lengths = append(lengths, p.in)
		}
	}
	for _, l := range lengths {
		if m.o.Path == "" && l.Set() && l.Mean <= float64(m.frame.first) {
			return fmt.Errorf("a prompt of %g tokens is too short: the chat template alone has %d tokens; use at least %d", l.Mean, m.frame.first, m.frame.first+1)
		}
	}
	return nil
}
