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

// item is a place in a template: a special token or the text.
type item struct {
	SpecialToken *struct{ ID string }
	Sequence     *struct{ ID string }
}

// pair is the id of a [text, id] pair.
type pair int

// UnmarshalJSON reads the pair.
func (p *pair) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{new(string), (*int)(p)})
}

// add reads a post-processor and puts its tokens around those of p.
func (p *post) add(j *part) error {
	switch j.Type {
	case "ByteLevel": // it moves offsets only
		return nil
	case "BertProcessing", "RobertaProcessing":
		if j.CLS == nil || j.SEP == nil {
			return fmt.Errorf("%s needs cls and sep as a text and an id", j.Type)
		}
		p.wrap([]int{int(*j.CLS)}, []int{int(*j.SEP)})
		return nil
	case "TemplateProcessing":
		return p.template(j)
	}
	return j.unknown()
}

// wrap puts tokens around those of p.
func (p *post) wrap(before, after []int) {
	p.before, p.after = slices.Concat(before, p.before), slices.Concat(p.after, after)
}

func (p *post) template(j *part) error {
	var around [2][]int
	texts := 0
	for _, it := range j.Single {
		switch {
		case it.SpecialToken != nil:
			special, ok := j.SpecialTokens[it.SpecialToken.ID]
			if !ok {
				return fmt.Errorf("the template uses %q, which special_tokens does not have", it.SpecialToken.ID)
			}
			around[min(texts, 1)] = append(around[min(texts, 1)], special.IDs...)
		case it.Sequence != nil:
			texts++
		}
	}
	if texts != 1 {
		return errors.New("the template must have one place for the text")
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
