package tokenizer

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/normal"
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
	if t.decoder == nil {
		return strings.Join(tokens, " ")
	}
	room := chars.Room(size(tokens))
	for _, step := range t.decoder {
		if tokens = step(tokens); !t.guard.Fits(size(tokens), room) {
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

// decoder turns tokens into texts that make the text when joined, step by step. Tokens without a decoder, nil, are words.
type decoder []func(tokens []string) []string

// setDecoder reads the decoders of a file.
func (t *Tokenizer) setDecoder(raw json.RawMessage) error {
	if !isNull(raw) {
		t.decoder = decoder{}
	}
	return parts("decoder", raw, func(p *part) error {
		step, err := p.decoder(t.guard)
		t.decoder = append(t.decoder, step)
		return err
	})
}

func (p *part) decoder(g *chars.Guard) (func([]string) []string, error) {
	switch p.Type {
	case "ByteLevel":
		return decodeBytes, nil
	case "ByteFallback":
		return decodeFallback, nil
	case "Fuse":
		return func(tokens []string) []string { return []string{strings.Join(tokens, "")} }, nil
	case "Strip":
		return each(func(s string, _, _ bool) string { return strip(s, p.Content, p.Start, p.Stop) }), nil
	case "Replace":
		m, err := p.Pattern.matcher(g)
		return replaceEach(normal.Replace{Find: m, With: p.Content}, g), err
	case "WordPiece":
		return p.wordPiece(), nil
	case "CTC":
		return p.ctc(), nil
	case "Metaspace": // marks are spaces; those of the first token go, unless none was put in front
		mark, err := p.mark()
		front := p.Scheme != "never" && yes(p.PrefixSpace)
		return each(func(s string, first, _ bool) string { return spaced(s, mark, first && front) }), err
	case "BPEDecoder": // the suffix of words is a space, but not at the end
		return each(func(s string, _, last bool) string { return spaced(s, text(p.Suffix, "</w>"), last) }), nil
	}
	return nil, p.unknown()
}

// each makes a step of what is done to every token alone.
func each(f func(s string, first, last bool) string) func([]string) []string {
	return func(tokens []string) []string {
		for i, s := range tokens {
			tokens[i] = f(s, i == 0, i == len(tokens)-1)
		}
		return tokens
	}
}

// spaced turns marks into spaces, or leaves them out.
func spaced(s, mark string, leaveOut bool) string {
	if leaveOut {
		return strings.ReplaceAll(s, mark, "")
	}
	return strings.ReplaceAll(s, mark, " ")
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
	s, _ := unicode.UTF8.NewDecoder().String(string(b)) // it never fails
	return s
}

// decodeFallback joins tokens of single bytes; if they are not valid text, each is a replacement character.
func decodeFallback(tokens []string) []string {
	var out []string
	var run []byte
	flush := func() {
		if len(run) > 0 && utf8.Valid(run) {
			out = append(out, string(run))
		} else if len(run) > 0 {
			out = append(out, strings.Repeat("\uFFFD", len(run)))
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

// replaceEach replaces in every token. It stops if the text becomes too long.
func replaceEach(n normal.Normalizer, g *chars.Guard) func([]string) []string {
	return func(tokens []string) []string {
		room, sum := chars.Room(size(tokens)), 0
		for i, s := range tokens {
			m := normal.Memory{Guard: g, Room: room - sum}
			tokens[i] = n.Normalize(s, &m)
			if sum += len(tokens[i]); !g.Fits(sum, room) {
				break
			}
		}
		return tokens
	}
}

// wordPiece joins the pieces of words and puts spaces between words.
func (p *part) wordPiece() func([]string) []string {
	prefix, clean := text(p.Prefix, "##"), yes(p.Cleanup)
	return each(func(s string, first, _ bool) string {
		if rest, ok := strings.CutPrefix(s, prefix); ok && !first {
			s = rest
		} else if !first {
			s = " " + s
		}
		if clean {
			s = cleanup(s)
		}
		return s
	})
}

// cleanup takes spaces off before punctuation and English contractions, one rule after the other.
func cleanup(s string) string {
	rules := []string{
		" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m", " do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re",
	}
	for r := range slices.Chunk(rules, 2) {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// ctc drops repeats and padding, as models of speech need.
func (p *part) ctc() func([]string) []string {
	pad, delimiter, clean := text(p.Pad, "<pad>"), text(p.Delimiter, "|"), yes(p.Cleanup)
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
