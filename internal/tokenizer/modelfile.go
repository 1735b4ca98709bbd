package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/split"
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

// readModel reads the model of a file. last is the ByteLevel stage before it, if there is one.
func readModel(raw json.RawMessage, last *split.ByteLevel) (model.Model, error) {
	j := &modelJSON{}
	if err := readExcept(raw, j, map[string]*json.RawMessage{"vocab": &j.Vocab, "merges": &j.Merges}); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if isNull(j.Vocab) {
		return nil, errors.New("model: no vocab")
	}
	m, err := j.build(last)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return m, nil
}

func (j *modelJSON) build(last *split.ByteLevel) (model.Model, error) {
	kind := j.kind()
	if kind == "Unigram" {
		entries, err := readScores(j.Vocab)
		if err != nil {
			return nil, err
		}
		unk := -1
		if j.UnkID != nil {
			unk = *j.UnkID
		}
		return model.NewUnigram(entries, unk, j.ByteFallback)
	}
	vocab, err := readVocab(j.Vocab)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "BPE":
		return j.bpe(vocab, last)
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

func (j *modelJSON) bpe(vocab map[string]int, last *split.ByteLevel) (model.Model, error) {
	merges, err := readMerges(j.Merges)
	if err != nil {
		return nil, err
	}
	c := model.BPEConfig{
		Vocab: vocab, Merges: merges, Unk: text(j.UnkToken, ""), HasUnk: j.UnkToken != nil,
		Prefix: text(j.Prefix, ""), Suffix: text(j.Suffix, ""),
		FuseUnk: j.FuseUnk, ByteFallback: j.ByteFallback, IgnoreMerges: j.IgnoreMerges,
		SpaceMark: spaceMark, NoPreTokenize: true,
	}
	if last != nil && !j.ByteFallback {
		c.ByteLevel, last.Plain = true, true
		c.NoPreTokenize = false
	}
	return model.NewBPE(c)
}
