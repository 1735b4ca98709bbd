package tokenizer

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/normal"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

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

// normalizerJSON is a normalizer in the form of a file.
type normalizerJSON struct {
	Type        string            `json:"type"`
	Normalizers []json.RawMessage `json:"normalizers"`
	StripLeft   *bool             `json:"strip_left"`
	StripRight  *bool             `json:"strip_right"`
	Pattern     *pattern          `json:"pattern"`
	Content     string            `json:"content"`
	Prepend     string            `json:"prepend"`
	Charsmap    string            `json:"precompiled_charsmap"`
	Clean       *bool             `json:"clean_text"`
	Chinese     *bool             `json:"handle_chinese_chars"`
	Accents     *bool             `json:"strip_accents"`
	Lower       *bool             `json:"lowercase"`
}

func yes(b *bool) bool { return b == nil || *b }

func buildNormalizer(raw json.RawMessage, g *chars.Guard) (normal.Normalizer, error) {
	if isNull(raw) {
		return nil, nil
	}
	var j normalizerJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	n, err := j.build(g)
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	return n, nil
}

func (j *normalizerJSON) build(g *chars.Guard) (normal.Normalizer, error) {
	switch j.Type {
	case "Sequence":
		var seq normal.Sequence
		for _, sub := range j.Normalizers {
			n, err := buildNormalizer(sub, g)
			if err != nil {
				return nil, err
			}
			if n != nil {
				seq = append(seq, n)
			}
		}
		if len(seq) == 0 {
			return nil, nil
		}
		return seq, nil
	case "NFC", "NFD", "NFKC", "NFKD":
		forms := map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}
		return normal.Unicode(forms[j.Type]), nil
	case "Lowercase":
		return normal.Lowercase{}, nil
	case "Strip":
		return normal.Strip{Left: yes(j.StripLeft), Right: yes(j.StripRight)}, nil
	case "StripAccents":
		return normal.Drop(chars.Accent), nil
	case "Replace":
		f, err := j.Pattern.matcher(g)
		if err != nil {
			return nil, err
		}
		return normal.Replace{Find: f, With: j.Content}, nil
	case "Prepend":
		return normal.Prepend(j.Prepend), nil
	case "BertNormalizer":
		accents := cmp.Or(j.Accents, j.Lower)
		return normal.Bert{Clean: yes(j.Clean), Chinese: yes(j.Chinese), Accents: yes(accents), Lower: yes(j.Lower)}, nil
	case "Nmt":
		return normal.Nmt{}, nil
	case "ByteLevel":
		return normal.ByteLevel{}, nil
	case "Precompiled":
		if j.Charsmap == "" {
			return nil, nil
		}
		data, err := base64.StdEncoding.DecodeString(j.Charsmap)
		if err != nil {
			return nil, fmt.Errorf("precompiled charsmap: %w", err)
		}
		return normal.NewCharsmap(data)
	default:
		return nil, fmt.Errorf("unknown type %q", j.Type)
	}
}

// preJSON is a pre-tokenizer in the form of a file.
type preJSON struct {
	Type          string            `json:"type"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	PrefixSpace   *bool             `json:"add_prefix_space"`
	UseRegex      *bool             `json:"use_regex"`
	Pattern       *pattern          `json:"pattern"`
	Behavior      string            `json:"behavior"`
	Invert        bool              `json:"invert"`
	Individual    bool              `json:"individual_digits"`
	Replacement   string            `json:"replacement"`
	Scheme        string            `json:"prepend_scheme"`
	Split         *bool             `json:"split"`
	Delimiter     string            `json:"delimiter"`
	Length        *int              `json:"length"`
}

// builder makes the parts that depend on one another.
type builder struct {
	// byteLevel is the last stage, if that is ByteLevel: a model that is byte-level takes plain bytes from it.
	byteLevel *split.ByteLevel
	guard     *chars.Guard
}

func (b *builder) preTokenizer(raw json.RawMessage) (split.Stage, error) {
	stages, err := b.stages(nil, raw)
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if len(stages) == 0 {
		return nil, nil
	}
	b.byteLevel, _ = stages[len(stages)-1].(*split.ByteLevel)
	for _, s := range stages[:len(stages)-1] {
		if _, twice := s.(*split.ByteLevel); twice {
			b.byteLevel = nil
		}
	}
	if len(stages) == 1 {
		return stages[0], nil
	}
	return split.Sequence(stages), nil
}

// stages appends the stages of a pre-tokenizer, sequences flattened.
func (b *builder) stages(dst []split.Stage, raw json.RawMessage) ([]split.Stage, error) {
	if isNull(raw) {
		return dst, nil
	}
	var j preJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return nil, err
	}
	if j.Type == "Sequence" {
		var err error
		for _, sub := range j.PreTokenizers {
			if dst, err = b.stages(dst, sub); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	s, err := j.build(b.guard)
	if err != nil {
		return nil, err
	}
	return append(dst, s), nil
}
