package tokenizer

import (
	"cmp"
	"fmt"

	"github.com/redline-bench/redline/internal/tokenizer/split"
	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// build makes the stage of a pre-tokenizer that is not a sequence.
func (j *preJSON) build() (split.Stage, error) {
	t := unitab.Get()
	switch j.Type {
	case "ByteLevel":
		s := &split.ByteLevel{PrefixSpace: yes(j.PrefixSpace)}
		if yes(j.UseRegex) {
			s.Cut = split.GPT2()
		}
		return s, nil
	case "Split":
		return j.split()
	case "Digits":
		b := split.Contiguous
		if j.Individual {
			b = split.Isolated
		}
		return &split.Split{Matcher: split.Chars{Table: t, Mask: unitab.Numeric}, Behavior: b}, nil
	case "Punctuation":
		b, err := behavior(j.Behavior)
		if err != nil {
			return nil, err
		}
		return &split.Split{Matcher: split.Chars{Table: t, Mask: unitab.Punct}, Behavior: b}, nil
	case "Whitespace":
		return split.Whitespace{Table: t}, nil
	case "WhitespaceSplit":
		return &split.Split{Matcher: split.Chars{Table: t, Mask: unitab.Space}, Behavior: split.Removed}, nil
	case "BertPreTokenizer":
		return split.Bert{Table: t}, nil
	case "CharDelimiterSplit":
		if !split.CheckMark(j.Delimiter) {
			return nil, fmt.Errorf("CharDelimiterSplit: %q is not one character", j.Delimiter)
		}
		return &split.Split{Matcher: split.Literal(j.Delimiter), Behavior: split.Removed}, nil
	case "UnicodeScripts":
		return split.Scripts{Table: t}, nil
	case "FixedLength":
		n := 5
		if j.Length != nil {
			n = *j.Length
		}
		if n < 1 {
			return nil, fmt.Errorf("FixedLength: the length is %d", n)
		}
		return split.FixedLength(n), nil
	case "Metaspace":
		return j.metaspace()
	default:
		return nil, fmt.Errorf("unknown type %q", j.Type)
	}
}

func (j *preJSON) split() (split.Stage, error) {
	b, err := behavior(j.Behavior)
	if err != nil {
		return nil, err
	}
	if j.Pattern != nil && j.Pattern.Regex != nil {
		return split.Pattern(*j.Pattern.Regex, b, j.Invert)
	}
	m, err := j.Pattern.finder()
	if err != nil {
		return nil, err
	}
	return &split.Split{Matcher: m, Behavior: b, Invert: j.Invert}, nil
}

func (j *preJSON) metaspace() (split.Stage, error) {
	mark, front := cmp.Or(j.Replacement, spaceMark), split.Always
	if !split.CheckMark(mark) {
		return nil, fmt.Errorf("metaspace: %q is not one character", mark)
	}
	switch j.Scheme {
	case "", "always":
	case "first":
		front = split.First
	case "never":
		front = split.Never
	default:
		return nil, fmt.Errorf("metaspace: unknown prepend_scheme %q", j.Scheme)
	}
	if j.PrefixSpace != nil && !*j.PrefixSpace {
		front = split.Never
	}
	return split.NewMetaspace(mark, front, yes(j.Split)), nil
}

// spaceMark stands for a space in SentencePiece vocabularies.
const spaceMark = "▁"

// behaviors are the names of what becomes of the matches of a pattern.
var behaviors = map[string]split.Behavior{
	"": split.Isolated, "Isolated": split.Isolated, "Removed": split.Removed, "MergedWithPrevious": split.MergedWithPrevious,
	"MergedWithNext": split.MergedWithNext, "Contiguous": split.Contiguous,
}

func behavior(name string) (split.Behavior, error) {
	b, ok := behaviors[name]
	if !ok {
		return 0, fmt.Errorf("unknown behavior %q", name)
	}
	return b, nil
}
