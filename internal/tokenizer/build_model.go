package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer/model"
)

// modelJSON is a model in the form of a file.
type modelJSON struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
	UnkToken     *string         `json:"unk_token"`
	UnkID        *int            `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       *string         `json:"end_of_word_suffix"`
	FuseUnk      bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	MaxChars     *int            `json:"max_input_chars_per_word"`
}

func text(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

// kind guesses the type of a model in an old file that does not name it.
func (j *modelJSON) kind() string {
	switch {
	case j.Type != "":
		return j.Type
	case !isNull(j.Merges):
		return "BPE"
	case j.MaxChars != nil || j.Prefix != nil:
		return "WordPiece"
	case strings.HasPrefix(strings.TrimSpace(string(j.Vocab)), "["):
		return "Unigram"
	}
	return "WordLevel"
}

func (b *builder) model(raw json.RawMessage) (model.Model, error) {
	j := &modelJSON{}
	if err := readExcept(raw, j, map[string]*json.RawMessage{"vocab": &j.Vocab, "merges": &j.Merges}); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if isNull(j.Vocab) {
		return nil, errors.New("model: no vocab")
	}
	m, err := b.buildModel(j)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return m, nil
}

func (b *builder) buildModel(j *modelJSON) (model.Model, error) {
	kind := j.kind()
	if kind == "Unigram" {
		return buildUnigram(j)
	}
	vocab, ok := quickVocab(j.Vocab)
	if !ok {
		vocab = map[string]int{}
		if err := json.Unmarshal(j.Vocab, &vocab); err != nil {
			return nil, fmt.Errorf("vocab: %w", err)
		}
	}
	switch kind {
	case "BPE":
		return b.buildBPE(j, vocab)
	case "WordPiece":
		limit := 100
		if j.MaxChars != nil {
			limit = *j.MaxChars
		}
		return model.NewWordPiece(vocab, text(j.UnkToken, "[UNK]"), text(j.Prefix, "##"), limit)
	case "WordLevel":
		return model.NewWordLevel(vocab, text(j.UnkToken, "<unk>"))
	}
	return nil, fmt.Errorf("unknown type %q", kind)
}

func (b *builder) buildBPE(j *modelJSON, vocab map[string]int) (model.Model, error) {
	merges, err := parseMerges(j.Merges)
	if err != nil {
		return nil, err
	}
	c := model.BPEConfig{
		Vocab: vocab, Merges: merges, Unk: text(j.UnkToken, ""), HasUnk: j.UnkToken != nil,
		Prefix: text(j.Prefix, ""), Suffix: text(j.Suffix, ""),
		FuseUnk: j.FuseUnk, ByteFallback: j.ByteFallback, IgnoreMerges: j.IgnoreMerges,
		SpaceMark: spaceMark, NoPreTokenize: true,
	}
	if b.byteLevel != nil && !j.ByteFallback {
		c.ByteLevel, b.byteLevel.Plain = true, true
		c.NoPreTokenize = false
	}
	return model.NewBPE(c)
}

// parseMerges reads merges as pairs or as two words in a string.
func parseMerges(raw json.RawMessage) ([][2]string, error) {
	if isNull(raw) {
		return nil, nil
	}
	pairs, ok := quickMerges(raw)
	if ok {
		return pairs, nil
	}
	pairs = nil
	if json.Unmarshal(raw, &pairs) == nil {
		return pairs, nil
	}
	var lines []string
	if err := json.Unmarshal(raw, &lines); err != nil {
		return nil, fmt.Errorf("merges: %w", err)
	}
	pairs = make([][2]string, 0, len(lines))
	for i, line := range lines {
		if strings.HasPrefix(line, "#version") {
			continue
		}
		x, y, ok := strings.Cut(line, " ")
		if !ok || strings.Contains(y, " ") {
			return nil, fmt.Errorf("merge %d, %q, is not two words", i+1, line)
		}
		pairs = append(pairs, [2]string{x, y})
	}
	return pairs, nil
}

func buildUnigram(j *modelJSON) (model.Model, error) {
	var rows [][2]any
	d := json.NewDecoder(bytes.NewReader(j.Vocab))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	entries := make([]model.Scored, len(rows))
	for i, r := range rows {
		token, ok1 := r[0].(string)
		score, ok2 := r[1].(json.Number)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("vocab entry %d is not a token and a score", i)
		}
		entries[i] = model.Scored{Token: token, Score: quickFloat(score.String())}
	}
	unk := -1
	if j.UnkID != nil {
		unk = *j.UnkID
	}
	return model.NewUnigram(entries, unk, j.ByteFallback)
}

// quickFloat reads a number as the package does: the digits as one integer, divided by a power of ten. The result may
// be off by one in the last place, and ties between scores are decided by that.
func quickFloat(s string) float64 {
	exact, err := strconv.ParseFloat(s, 64)
	digits, neg := strings.CutPrefix(s, "-")
	mantissa, exponent, found := strings.Cut(strings.ToLower(digits), "e")
	shift := 0
	if found {
		n, bad := strconv.Atoi(exponent)
		if bad != nil || n > 300 || n < -300 {
			return exact
		}
		shift = n
	}
	var whole uint64
	point := false
	for _, c := range []byte(mantissa) {
		if c == '.' {
			point = true
			continue
		}
		d := uint64(c - '0')
		if whole > (math.MaxUint64-d)/10 {
			if !point {
				return exact
			}
			break
		}
		whole = whole*10 + d
		if point {
			shift--
		}
	}
	if err != nil || shift < -308 || shift > 308 {
		return exact
	}
	f := float64(whole)
	if shift < 0 {
		f /= math.Pow10(-shift)
	} else {
		f *= math.Pow10(shift)
	}
	if neg {
		f = -f
	}
	return f
}
