package tokenizer

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// build makes the stage of a pre-tokenizer that is not a sequence.
func (j *preJSON) build(g *chars.Guard) (split.Stage, error) {
	switch j.Type {
	case "ByteLevel":
		return &split.ByteLevel{PrefixSpace: yes(j.PrefixSpace), Cut: yes(j.UseRegex)}, nil
	case "Split":
		return j.split(g)
	case "Digits":
		b := split.Contiguous
		if j.Individual {
			b = split.Isolated
		}
		return &split.Split{Matcher: chars.Number, Behavior: b}, nil
	case "Punctuation":
		b, err := behavior(j.Behavior)
		if err != nil {
			return nil, err
		}
		return &split.Split{Matcher: chars.Punct, Behavior: b}, nil
	case "Whitespace":
		return split.Whitespace{}, nil
	case "WhitespaceSplit":
		return &split.Split{Matcher: chars.Space, Behavior: split.Removed}, nil
	case "BertPreTokenizer":
		return split.Bert{}, nil
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(j.Delimiter) != 1 {
			return nil, fmt.Errorf("CharDelimiterSplit: %q is not one character", j.Delimiter)
		}
		return &split.Split{Matcher: chars.Literal(j.Delimiter), Behavior: split.Removed}, nil
	case "UnicodeScripts":
		return split.Scripts{}, nil
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

func (j *preJSON) split(g *chars.Guard) (split.Stage, error) {
	b, err := behavior(j.Behavior)
	if err != nil {
		return nil, err
	}
	if j.Pattern != nil && j.Pattern.Regex != nil {
		return split.Pattern(*j.Pattern.Regex, b, j.Invert, g)
	}
	m, err := j.Pattern.matcher(g)
	if err != nil {
		return nil, err
	}
	return &split.Split{Matcher: m, Behavior: b, Invert: j.Invert}, nil
}

func (j *preJSON) metaspace() (split.Stage, error) {
	mark, front := cmp.Or(j.Replacement, spaceMark), split.Always
	if utf8.RuneCountInString(mark) != 1 {
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
	m := &split.Metaspace{Mark: mark, Prepend: front}
	if yes(j.Split) {
		m.Cut = &split.Split{Matcher: chars.Literal(mark), Behavior: split.MergedWithNext}
	}
	return m, nil
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
