package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// post has the special tokens that are put around a text.
type post struct {
	before, after []int
}

// postJSON is a post-processor as a file has it.
type postJSON struct {
	Type       string            `json:"type"`
	Processors []json.RawMessage `json:"processors"`
	Single     []struct {
		SpecialToken *struct{ ID string }
		Sequence     *struct{ ID string }
	} `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`
	CLS pairJSON `json:"cls"`
	SEP pairJSON `json:"sep"`
}

// pairJSON is the id of a [text, id] pair.
type pairJSON int

// UnmarshalJSON reads the pair.
func (p *pairJSON) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{new(string), (*int)(p)})
}

// add reads a post-processor and puts its tokens around those of p.
func (p *post) add(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	j := postJSON{CLS: -1, SEP: -1}
	if err := json.Unmarshal(raw, &j); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	switch j.Type {
	case "ByteLevel": // it moves offsets only
	case "Sequence":
		for _, sub := range j.Processors {
			if err := p.add(sub); err != nil {
				return err
			}
		}
	case "BertProcessing", "RobertaProcessing":
		if j.CLS < 0 || j.SEP < 0 {
			return fmt.Errorf("post_processor: %s needs cls and sep as a text and an id", j.Type)
		}
		p.wrap([]int{int(j.CLS)}, []int{int(j.SEP)})
	case "TemplateProcessing":
		return p.template(&j)
	default:
		return fmt.Errorf("post_processor: unknown type %q", j.Type)
	}
	return nil
}

// wrap puts tokens around those of p.
func (p *post) wrap(before, after []int) {
	p.before, p.after = slices.Concat(before, p.before), slices.Concat(p.after, after)
}

func (p *post) template(j *postJSON) error {
	var around [2][]int
	texts := 0
	for _, item := range j.Single {
		switch {
		case item.SpecialToken != nil:
			special, ok := j.SpecialTokens[item.SpecialToken.ID]
			if !ok {
				return fmt.Errorf("post_processor: the template uses %q, which special_tokens does not have", item.SpecialToken.ID)
			}
			around[min(texts, 1)] = append(around[min(texts, 1)], special.IDs...)
		case item.Sequence != nil:
			texts++
		}
	}
	if texts != 1 {
		return errors.New("post_processor: the template must have one place for the text")
	}
	p.wrap(around[0], around[1])
	return nil
}

// limit is truncation and padding.
type limit struct {
	truncates bool
	max       int
	cutLeft   bool
	pads      bool
	fixed     int
	multiple  int
	padLeft   bool
	padID     int
}

// truncate cuts the ids of a text, which begin at body. The tokens around it count too.
func (l *limit) truncate(dst []int, body, around int) []int {
	room := max(l.max-around, 0)
	if !l.truncates || len(dst)-body <= room {
		return dst
	}
	if l.cutLeft {
		return append(dst[:body], dst[len(dst)-room:]...)
	}
	return dst[:body+room]
}

func (l *limit) pad(dst []int, from int) []int {
	n := max(len(dst)-from, l.fixed)
	if l.multiple > 0 && n%l.multiple > 0 {
		n += l.multiple - n%l.multiple
	}
	short := n - (len(dst) - from)
	if !l.pads || short <= 0 {
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

// mostPadding is the number of tokens to which a text may be padded.
const mostPadding = 1 << 20

func newLimit(j limitJSON) (*limit, error) {
	if j.Truncation == nil && j.Padding == nil {
		return nil, nil
	}
	l := &limit{}
	if t := j.Truncation; t != nil {
		// OnlySecond never cuts a single text.
		l.truncates, l.max, l.cutLeft = t.Strategy != "OnlySecond", t.MaxLength, t.Direction == "Left"
	}
	if p := j.Padding; p != nil {
		l.pads, l.padLeft, l.padID, l.multiple = true, p.Direction == "Left", p.ID, p.Multiple
		if m, ok := p.Strategy.(map[string]any); ok {
			n, _ := m["Fixed"].(float64)
			l.fixed = int(min(n, 2*mostPadding))
		}
		if max(l.fixed, l.multiple) > mostPadding {
			return nil, fmt.Errorf("padding: to more than %d tokens", mostPadding)
		}
	}
	return l, nil
}
