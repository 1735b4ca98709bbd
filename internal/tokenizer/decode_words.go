package tokenizer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// wordPiece joins the pieces of words and puts spaces between words.
func (j *decoderJSON) wordPiece() func([]string) []string {
	prefix, clean := text(j.Prefix, "##"), yes(j.Cleanup)
	return func(tokens []string) []string {
		for i, s := range tokens {
			if i > 0 {
				if rest, ok := strings.CutPrefix(s, prefix); ok {
					s = rest
				} else {
					s = " " + s
				}
			}
			if clean {
				s = cleanup(s)
			}
			tokens[i] = s
		}
		return tokens
	}
}

// cleanup takes spaces off before punctuation and English contractions, one rule after the other.
func cleanup(s string) string {
	if !strings.Contains(s, " ") {
		return s
	}
	for _, r := range [][2]string{
		{" .", "."},
		{" ?", "?"},
		{" !", "!"},
		{" ,", ","},
		{" ' ", "'"},
		{" n't", "n't"},
		{" 'm", "'m"},
		{" do not", " don't"},
		{" 's", "'s"},
		{" 've", "'ve"},
		{" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// metaspace turns marks into spaces; those of the first token go, unless none was put in front.
func (j *decoderJSON) metaspace() (func([]string) []string, error) {
	mark := cmp.Or(j.Mark, spaceMark)
	if !split.CheckMark(mark) {
		return nil, fmt.Errorf("metaspace: %q is not one character", mark)
	}
	front := j.Scheme != "never" && yes(j.Space)
	return func(tokens []string) []string {
		for i, s := range tokens {
			with := " "
			if i == 0 && front {
				with = ""
			}
			tokens[i] = strings.ReplaceAll(s, mark, with)
		}
		return tokens
	}, nil
}

// bpe turns the suffix of words into spaces, but not at the end.
func (j *decoderJSON) bpe() func([]string) []string {
	suffix := text(j.Suffix, "</w>")
	return func(tokens []string) []string {
		for i, s := range tokens {
			with := " "
			if i == len(tokens)-1 {
				with = ""
			}
			tokens[i] = strings.ReplaceAll(s, suffix, with)
		}
		return tokens
	}
}

// ctc drops repeats and padding, as models of speech need.
func (j *decoderJSON) ctc() func([]string) []string {
	pad, delimiter, clean := text(j.Pad, "<pad>"), text(j.Delimiter, "|"), yes(j.Cleanup)
	return func(tokens []string) []string {
		out := tokens[:0]
		for _, s := range slices.Compact(tokens) {
			s = strings.ReplaceAll(s, pad, "")
			if clean {
				s = strings.ReplaceAll(cleanup(s), delimiter, " ")
			}
			if s != "" {
				out = append(out, s)
			}
		}
		return out
	}
}
