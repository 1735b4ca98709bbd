package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/rx"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// Decode returns the text of ids; skipSpecial omits special tokens. It ignores ids that are not in the vocabulary.
func (t *Tokenizer) Decode(ids []int, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		token, ok := t.added.texts[id]
		if !ok {
			if token, ok = t.model.Token(id); !ok {
				continue
			}
		}
		if !skipSpecial || !t.added.special[token] {
			tokens = append(tokens, token)
		}
	}
	if len(t.decoder.chain) == 0 && !t.decoder.some {
		return strings.Join(tokens, " ")
	}
	limit := maxNormalized + maxGrowth*size(tokens)
	for _, step := range t.decoder.chain {
		if tokens = step(tokens); size(tokens) > limit {
			t.states.grown.Store(true)
			return ""
		}
	}
	return strings.Join(tokens, "")
}

// size is the length of all tokens.
func size(tokens []string) int {
	n := 0
	for _, s := range tokens {
		n += len(s)
	}
	return n
}

// decoder turns tokens into text, step by step.
type decoder struct {
	chain []func([]string) []string
	some  bool // the file names a decoder, even if it does nothing

	patterns []split.Matcher
}

// Exceeded reports whether a pattern took too many steps in some text.
func (d *decoder) Exceeded() bool {
	return slices.ContainsFunc(d.patterns, func(m split.Matcher) bool { return rx.Exceeded(m) })
}

// decoderJSON is a decoder in the form of a file.
type decoderJSON struct {
	Type      string            `json:"type"`
	Decoders  []json.RawMessage `json:"decoders"`
	Prefix    *string           `json:"prefix"`
	Cleanup   *bool             `json:"cleanup"`
	Mark      string            `json:"replacement"`
	Scheme    string            `json:"prepend_scheme"`
	Space     *bool             `json:"add_prefix_space"`
	Content   string            `json:"content"`
	Start     int               `json:"start"`
	Stop      int               `json:"stop"`
	Pattern   *pattern          `json:"pattern"`
	Suffix    *string           `json:"suffix"`
	Pad       *string           `json:"pad_token"`
	Delimiter *string           `json:"word_delimiter_token"`
}

func buildDecoder(raw json.RawMessage) (decoder, error) {
	if isNull(raw) {
		return decoder{}, nil
	}
	d := decoder{some: true}
	if err := d.add(raw); err != nil {
		return decoder{}, fmt.Errorf("decoder: %w", err)
	}
	return d, nil
}

// add appends the steps of a decoder.
func (d *decoder) add(raw json.RawMessage) error {
	var j decoderJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	if j.Type == "Sequence" {
		for _, sub := range j.Decoders {
			if err := d.add(sub); err != nil {
				return err
			}
		}
		return nil
	}
	step, err := d.step(&j)
	if err == nil {
		d.chain = append(d.chain, step)
	}
	return err
}

func (d *decoder) step(j *decoderJSON) (func([]string) []string, error) {
	switch j.Type {
	case "ByteLevel":
		return decodeBytes, nil
	case "WordPiece":
		return j.wordPiece(), nil
	case "Metaspace":
		return j.metaspace()
	case "ByteFallback":
		return decodeFallback, nil
	case "Fuse":
		return func(tokens []string) []string { return []string{strings.Join(tokens, "")} }, nil
	case "Strip":
		return each(func(s string) string { return strip(s, j.Content, j.Start, j.Stop) }), nil
	case "Replace":
		m, err := j.Pattern.finder()
		if err != nil {
			return nil, err
		}
		d.patterns = append(d.patterns, m)
		return func(tokens []string) []string { return replaceEach(tokens, m, j.Content) }, nil
	case "BPEDecoder":
		return j.bpe(), nil
	case "CTC":
		return j.ctc(), nil
	}
	return nil, fmt.Errorf("unknown type %q", j.Type)
}

// each makes a step of what is done to every token alone.
func each(f func(string) string) func([]string) []string {
	return func(tokens []string) []string {
		for i, s := range tokens {
			tokens[i] = f(s)
		}
		return tokens
	}
}

// decodeBytes reads tokens as byte-level writing; a token that is not is taken as it is.
func decodeBytes(tokens []string) []string {
	var b []byte
	for _, s := range tokens {
		var ok bool
		if b, ok = model.FromByteLevel(b, s); !ok {
			b = append(b, s...)
		}
	}
	return []string{validUTF8(b)}
}

// validUTF8 is text from bytes; each broken character, as far as it goes, becomes one replacement character.
func validUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size <= 1 {
			size = brokenLen(b)
		}
		out.WriteRune(r)
		b = b[size:]
	}
	return out.String()
}

// brokenLen is how many bytes of a broken character belong to one that could have been.
func brokenLen(b []byte) int {
	lo, hi := byte(0x80), byte(0xBF)
	want := 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		want = 1
	case c == 0xE0:
		want, lo = 2, 0xA0
	case c == 0xED:
		want, hi = 2, 0x9F
	case c >= 0xE1 && c <= 0xEF:
		want = 2
	case c == 0xF0:
		want, lo = 3, 0x90
	case c >= 0xF1 && c <= 0xF3:
		want = 3
	case c == 0xF4:
		want, hi = 3, 0x8F
	}
	n := 1
	for ; n <= want && n < len(b); n++ {
		if b[n] < lo || b[n] > hi {
			break
		}
		lo, hi = 0x80, 0xBF
	}
	return n
}

// decodeFallback joins tokens of single bytes; if they are not valid text, each is a replacement character.
func decodeFallback(tokens []string) []string {
	var out []string
	var run []byte
	flush := func() {
		if utf8.Valid(run) {
			if len(run) > 0 {
				out = append(out, string(run))
			}
		} else {
			for range run {
				out = append(out, "\uFFFD")
			}
		}
		run = run[:0]
	}
	for _, s := range tokens {
		if len(s) == 6 && strings.HasPrefix(s, "<0x") && s[5] == '>' {
			if n, err := strconv.ParseUint(strings.TrimPrefix(s[3:5], "+"), 16, 8); err == nil {
				run = append(run, byte(n))
				continue
			}
		}
		flush()
		out = append(out, s)
	}
	flush()
	return out
}

// replaceEach replaces in every token. It stops if the text exceeds the limit; Decode then reports it.
func replaceEach(tokens []string, m split.Matcher, with string) []string {
	limit, n := maxNormalized+(maxGrowth+1)*size(tokens), 0
	for i, s := range tokens {
		if n > limit {
			break
		}
		tokens[i] = replace(s, m, with, limit)
		n += len(tokens[i])
	}
	return tokens
}

// replace puts a text in the place of each match, until the text has more bytes than the limit.
func replace(s string, m split.Matcher, with string, limit int) string {
	var b strings.Builder
	at, next := 0, 0
	for next <= len(s) && s != "" && b.Len() <= limit {
		from, to := m.Find(s, next)
		if from < 0 {
			break
		}
		b.WriteString(s[at:from])
		b.WriteString(with)
		at, next = to, to
		if from == to {
			_, size := utf8.DecodeRuneInString(s[to:])
			next += max(size, 1)
		}
	}
	b.WriteString(s[at:])
	return b.String()
}

// strip takes a character off the ends, so many times at most.
func strip(s, c string, start, stop int) string {
	for ; start > 0 && c != "" && strings.HasPrefix(s, c); start-- {
		s = s[len(c):]
	}
	for ; stop > 0 && c != "" && strings.HasSuffix(s, c); stop-- {
		s = s[:len(s)-len(c)]
	}
	return s
}
