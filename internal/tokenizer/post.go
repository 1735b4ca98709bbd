package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// post puts special tokens around a text.
type post struct {
	before, after []int
	// again has the pieces of a template that repeats the text; nil in all others.
	again [][]int
}

// count is how many tokens are put around.
func (p *post) count() int {
	n := len(p.before) + len(p.after)
	for _, ids := range p.again {
		n += len(ids)
	}
	return n
}

// finish appends what follows the text, which lies from body on.
func (p *post) finish(dst []int, body int) []int {
	end := len(dst)
	for _, ids := range p.again {
		dst = append(dst, ids...)
		dst = append(dst, dst[body:end]...)
	}
	return append(dst, p.after...)
}

// wrap puts the tokens of an outer processor around.
func (p *post) wrap(before, after []int, again [][]int) error {
	if len(again) > 0 && (p.count() > 0 || len(p.again) > 0) {
		return errors.New("a template that repeats the text, behind another processor, is not supported")
	}
	p.before = slices.Concat(before, p.before)
	p.after = slices.Concat(p.after, after)
	p.again = append(p.again, again...)
	return nil
}

// postJSON is a post-processor as a file has it.
type postJSON struct {
	Type       string          `json:"type"`
	Processors json.RawMessage `json:"processors"`
	Single     []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		}
		Sequence *struct {
			ID string `json:"id"`
		}
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`
	CLS []any `json:"cls"` // text, id
	SEP []any `json:"sep"`
}

// add reads a post-processor and puts its tokens around those of p.
func (p *post) add(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var j postJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	switch j.Type {
	case "ByteLevel":
		return nil // it moves offsets only
	case "Sequence":
		var list []json.RawMessage
		if err := json.Unmarshal(j.Processors, &list); err != nil {
			return fmt.Errorf("post_processor: %w", err)
		}
		for _, sub := range list {
			if err := p.add(sub); err != nil {
				return err
			}
		}
		return nil
	case "BertProcessing", "RobertaProcessing":
		cls, okC := pairID(j.CLS)
		sep, okS := pairID(j.SEP)
		if !okC || !okS {
			return fmt.Errorf("post_processor: %s needs cls and sep as a text and an id", j.Type)
		}
		return p.wrap([]int{cls}, []int{sep}, nil)
	case "TemplateProcessing":
		return p.template(&j)
	default:
		return fmt.Errorf("post_processor: unknown type %q", j.Type)
	}
}

func (p *post) template(j *postJSON) error {
	parts := [][]int{{}}
	for _, item := range j.Single {
		switch {
		case item.SpecialToken != nil:
			special, ok := j.SpecialTokens[item.SpecialToken.ID]
			if !ok {
				return fmt.Errorf("post_processor: the template uses %q, which special_tokens does not have", item.SpecialToken.ID)
			}
			last := len(parts) - 1
			parts[last] = append(parts[last], special.IDs...)
		case item.Sequence != nil:
			parts = append(parts, nil)
		}
	}
	if len(parts) < 2 {
		return errors.New("post_processor: the template has no place for the text")
	}
	return p.wrap(parts[0], parts[len(parts)-1], parts[1:len(parts)-1])
}

// pairID is the id of a [text, id] pair.
func pairID(pair []any) (int, bool) {
	if len(pair) != 2 {
		return 0, false
	}
	id, ok := pair[1].(float64)
	return int(id), ok
}

// limit is truncation and padding.
type limit struct {
	max       int // 0: no truncation
	cutLeft   bool
	never     bool // only_second: a single text is never cut
	pads      bool
	fixed     int
	multiple  int
	padLeft   bool
	padID     int
	truncates bool
}

// room is how many tokens of the text there may be.
func (l *limit) room(special bool, around int) int {
	if special {
		return max(l.max-around, 0)
	}
	return l.max
}

func (l *limit) truncate(dst []int, body, room int) []int {
	if !l.truncates || l.never || len(dst)-body <= room {
		return dst
	}
	if l.cutLeft {
		return append(dst[:body], dst[len(dst)-room:]...)
	}
	return dst[:body+room]
}

func (l *limit) pad(dst []int, from int) []int {
	if !l.pads {
		return dst
	}
	n := max(len(dst)-from, l.fixed)
	if l.multiple > 0 && n%l.multiple > 0 {
		n += l.multiple - n%l.multiple
	}
	short := n - (len(dst) - from)
	if short <= 0 {
		return dst
	}
	fill := slices.Repeat([]int{l.padID}, short)
	if l.padLeft {
		return slices.Insert(dst, from, fill...)
	}
	return append(dst, fill...)
}

// limitJSON is truncation and padding as a file has them.
type limitJSON struct {
	Truncation *struct {
		Direction string `json:"direction"`
		MaxLength int    `json:"max_length"`
		Strategy  string `json:"strategy"`
	} `json:"truncation"`
	Padding *struct {
		Strategy  any    `json:"strategy"` // "BatchLongest" or {"Fixed": n}
		Direction string `json:"direction"`
		Multiple  int    `json:"pad_to_multiple_of"`
		ID        int    `json:"pad_id"`
	} `json:"padding"`
}

func newLimit(j limitJSON) *limit {
	if j.Truncation == nil && j.Padding == nil {
		return nil
	}
	l := &limit{}
	if t := j.Truncation; t != nil {
		l.truncates, l.max = true, t.MaxLength
		l.cutLeft, l.never = t.Direction == "Left", t.Strategy == "OnlySecond"
	}
	if p := j.Padding; p != nil {
		l.pads, l.padLeft, l.padID, l.multiple = true, p.Direction == "Left", p.ID, p.Multiple
		if m, ok := p.Strategy.(map[string]any); ok {
			n, _ := m["Fixed"].(float64)
			l.fixed = int(n)
		}
	}
	return l
}
