package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// part is a normalizer, pre-tokenizer, post-processor or decoder as a file has it. The type says which fields count.
type part struct {
	Type          string            `json:"type"`
	Normalizers   []json.RawMessage `json:"normalizers"` // of a Sequence
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`
	Decoders      []json.RawMessage `json:"decoders"`

	Pattern  *pattern `json:"pattern"`
	Content  string   `json:"content"`
	Behavior string   `json:"behavior"`
	Invert   bool     `json:"invert"`

	StripLeft  *bool  `json:"strip_left"`
	StripRight *bool  `json:"strip_right"`
	Prepend    string `json:"prepend"`
	Charsmap   string `json:"precompiled_charsmap"`
	Clean      *bool  `json:"clean_text"`
	Chinese    *bool  `json:"handle_chinese_chars"`
	Accents    *bool  `json:"strip_accents"`
	Lower      *bool  `json:"lowercase"`

	PrefixSpace *bool  `json:"add_prefix_space"`
	UseRegex    *bool  `json:"use_regex"`
	Individual  bool   `json:"individual_digits"`
	Mark        string `json:"replacement"`
	Scheme      string `json:"prepend_scheme"`
	Split       *bool  `json:"split"`
	Char        string `json:"delimiter"`
	Length      *int   `json:"length"`

	Single        []item `json:"single"`
	SpecialTokens map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`
	CLS *pair `json:"cls"`
	SEP *pair `json:"sep"`

	Prefix    *string `json:"prefix"`
	Suffix    *string `json:"suffix"`
	Cleanup   *bool   `json:"cleanup"`
	Start     int     `json:"start"`
	Stop      int     `json:"stop"`
	Pad       *string `json:"pad_token"`
	Delimiter *string `json:"word_delimiter_token"`
}

// parts reads a part and calls build for it, or for each part of a sequence.
func parts(kind string, raw json.RawMessage, build func(p *part) error) error {
	if isNull(raw) {
		return nil
	}
	var p part
	err := json.Unmarshal(raw, &p)
	if err == nil && p.Type != "Sequence" {
		err = build(&p)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	for _, sub := range slices.Concat(p.Normalizers, p.PreTokenizers, p.Processors, p.Decoders) {
		if err := parts(kind, sub, build); err != nil {
			return err
		}
	}
	return nil
}

func (p *part) unknown() error { return fmt.Errorf("unknown type %q", p.Type) }

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func yes(b *bool) bool { return b == nil || *b }

func text(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

// spaceMark stands for a space in SentencePiece vocabularies.
const spaceMark = "▁"

// mark is the mark of a Metaspace.
func (p *part) mark() (string, error) {
	if p.Mark == "" {
		return spaceMark, nil
	}
	return p.Mark, oneCharacter(p.Mark)
}

func oneCharacter(s string) error {
	if utf8.RuneCountInString(s) != 1 {
		return fmt.Errorf("%q is not one character", s)
	}
	return nil
}

// pattern is {"String": ...} or {"Regex": ...}.
type pattern struct {
	String *string
	Regex  *string
}

// matcher makes a matcher of a pattern.
func (p *pattern) matcher(g *chars.Guard) (chars.Matcher, error) {
	switch {
	case p == nil:
		return nil, errors.New("a pattern is missing")
	case p.Regex != nil:
		return chars.NewPattern(*p.Regex, g)
	case p.String == nil:
		return nil, errors.New("a pattern is neither String nor Regex")
	}
	return chars.Literal(*p.String), nil
}
