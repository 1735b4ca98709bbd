package tokenizer

import (
	"encoding/json"
	"fmt"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// setPreTokenizer reads the pre-tokenizers of a file. It returns the last stage if that alone is ByteLevel: a model that is byte-level
// takes plain bytes from it.
func (t *Tokenizer) setPreTokenizer(raw json.RawMessage) (last *split.ByteLevel, err error) {
	var seq split.Sequence
	bytes := 0
	err = parts("pre_tokenizer", raw, func(p *part) error {
		s, err := p.stage(t.guard)
		seq = append(seq, s)
		var ok bool
		if last, ok = s.(*split.ByteLevel); ok {
			bytes++
		}
		return err
	})
	if len(seq) > 0 {
		t.pre = seq
	}
	if bytes > 1 {
		last = nil
	}
	return last, err
}

// stage makes the stage of a pre-tokenizer.
func (p *part) stage(g *chars.Guard) (split.Stage, error) {
	switch p.Type {
	case "ByteLevel":
		return &split.ByteLevel{PrefixSpace: yes(p.PrefixSpace), Cut: yes(p.UseRegex)}, nil
	case "Split":
		b, err := p.behavior()
		if err != nil {
			return nil, err
		}
		if p.Pattern != nil && p.Pattern.Regex != nil {
			return split.Pattern(*p.Pattern.Regex, b, p.Invert, g)
		}
		m, err := p.Pattern.matcher(g)
		return &split.Split{Matcher: m, Behavior: b, Invert: p.Invert}, err
	case "Digits":
		b := split.Contiguous
		if p.Individual {
			b = split.Isolated
		}
		return &split.Split{Matcher: chars.Number, Behavior: b}, nil
	case "Punctuation":
		b, err := p.behavior()
		return &split.Split{Matcher: chars.Punct, Behavior: b}, err
	case "Whitespace":
		return split.Runs{Class: chars.Word}, nil
	case "WhitespaceSplit":
		return &split.Split{Matcher: chars.Space, Behavior: split.Removed}, nil
	case "BertPreTokenizer":
		return split.Runs{Class: chars.Punct, Single: true}, nil
	case "CharDelimiterSplit":
		return &split.Split{Matcher: chars.Literal(p.Char), Behavior: split.Removed}, oneCharacter(p.Char)
	case "UnicodeScripts":
		return split.Scripts{}, nil
	case "FixedLength":
		n := 5
		if p.Length != nil {
			n = *p.Length
		}
		if n < 1 {
			return nil, fmt.Errorf("FixedLength: the length is %d", n)
		}
		return split.FixedLength(n), nil
	case "Metaspace":
		return p.metaspace()
	}
	return nil, p.unknown()
}

func (p *part) metaspace() (split.Stage, error) {
	mark, err := p.mark()
	if err != nil {
		return nil, err
	}
	m := &split.Metaspace{Mark: mark}
	front, ok := map[string]split.Prepend{"": split.Always, "always": split.Always, "first": split.First, "never": split.Never}[p.Scheme]
	if !ok {
		return nil, fmt.Errorf("unknown prepend_scheme %q", p.Scheme)
	}
	if m.Prepend = front; !yes(p.PrefixSpace) {
		m.Prepend = split.Never
	}
	if yes(p.Split) {
		m.Cut = &split.Split{Matcher: chars.Literal(mark), Behavior: split.MergedWithNext}
	}
	return m, nil
}

// behaviors are the names of what becomes of the matches of a pattern.
var behaviors = map[string]split.Behavior{
	"": split.Isolated, "Isolated": split.Isolated, "Removed": split.Removed, "MergedWithPrevious": split.MergedWithPrevious,
	"MergedWithNext": split.MergedWithNext, "Contiguous": split.Contiguous,
}

func (p *part) behavior() (split.Behavior, error) {
	b, ok := behaviors[p.Behavior]
	if !ok {
		return 0, fmt.Errorf("unknown behavior %q", p.Behavior)
	}
	return b, nil
}
