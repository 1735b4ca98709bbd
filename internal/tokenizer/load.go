package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Load reads a tokenizer from a folder, a tokenizer.json or tekken.json, a .tiktoken or a SentencePiece .model file.
func Load(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w; give the folder of a model, a tokenizer.json, a .tiktoken or a .model file", path, plainErr(err))
	}
	if info.IsDir() {
		return loadDir(path)
	}
	t, err := loadFile(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	if strings.EqualFold(filepath.Ext(path), ".json") || isRanks(path) {
		if err := t.readChat(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("tokenizer %s: %w", path, err)
		}
	}
	return t, nil
}

// plainErr returns an error without the path, which the caller adds.
func plainErr(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func isRanks(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".tiktoken" || ext == ".model"
}

// loadDir searches for the files that models come with, the best first.
func loadDir(dir string) (*Tokenizer, error) {
	names := []string{"tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tiktoken.model"}
	if found, err := filepath.Glob(filepath.Join(dir, "*.tiktoken")); err == nil {
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		t, err := loadFile(path)
		if err == nil {
			err = t.readChat(dir)
		}
		if err != nil {
			return nil, fmt.Errorf("tokenizer %s: %w", path, err)
		}
		t.name = filepath.Base(filepath.Clean(dir))
		return t, nil
	}
	return nil, fmt.Errorf("tokenizer %s: the folder has none of %s and no .tiktoken file", dir, strings.Join(names[:6], ", "))
}

func loadFile(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, plainErr(err)
	}
	var t *Tokenizer
	switch {
	case isRanks(path) && looksLikeRanks(data):
		t, err = parseRanks(data, path)
	case strings.EqualFold(filepath.Ext(path), ".model"):
		t, err = parsePiece(data)
	case strings.HasPrefix(strings.ToLower(filepath.Base(path)), "tekken"):
		t, err = parseTekken(data)
	default:
		t, err = Parse(data)
	}
	if err != nil {
		return nil, err
	}
	t.name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if t.name == "tokenizer" {
		if abs, err := filepath.Abs(path); err == nil {
			t.name = filepath.Base(filepath.Dir(abs))
		}
	}
	return t, nil
}

// fileJSON is tokenizer.json.
type fileJSON struct {
	limitJSON
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// Parse reads the text of a tokenizer.json.
func Parse(data []byte) (*Tokenizer, error) {
	var f fileJSON
	err := readExcept(data, &f, map[string]*json.RawMessage{"model": &f.Model})
	if err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	if isNull(f.Model) {
		return nil, errors.New("not a tokenizer.json: it has no model")
	}
	t := newTokenizer()
	if t.limit, err = newLimit(f.limitJSON); err != nil {
		return nil, err
	}
	if err := t.setNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	last, err := t.setPreTokenizer(f.PreTokenizer)
	if err != nil {
		return nil, err
	}
	if t.model, err = readModel(f.Model, last); err != nil {
		return nil, err
	}
	if err := parts("post_processor", f.PostProcessor, t.post.add); err != nil {
		return nil, err
	}
	if err := t.setDecoder(f.Decoder); err != nil {
		return nil, err
	}
	t.added = newAdded(f.AddedTokens, t.model, t.normalize, t.guard)
	return t, nil
}
