//go:build !race

// These tests have no threads and are slow under the race detector: `make unit` runs them without it.

package tokenizer_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/tokenizer"
)

// hostile is a tokenizer with the given parts and a tiny vocabulary.
func hostile(t *testing.T, parts map[string]any) *tokenizer.Tokenizer {
	t.Helper()
	file := map[string]any{"version": "1.0", "model": map[string]any{"type": "BPE", "vocab": map[string]int{"a": 0}, "merges": []string{}}}
	maps.Copy(file, parts)
	text, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := tokenizer.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// replaceMany is a list of twelve steps, each of which makes ten letters of one.
func replaceMany() []any {
	var steps []any
	for range 12 {
		steps = append(steps, map[string]any{"type": "Replace", "pattern": map[string]string{"String": "a"}, "content": "aaaaaaaaaa"})
	}
	return steps
}

// Files of tokenizers come from strangers: what would never end, or fill the memory, ends with an error.
func TestHostileFilesEnd(t *testing.T) {
	f := func(name, want string, parts map[string]any, use func(*tokenizer.Tokenizer)) {
		t.Run(name, func(t *testing.T) {
			tok := hostile(t, parts)
			if err := tok.Err(); err != nil {
				t.Fatalf("before any text: %v", err)
			}
			use(tok)
			if err := tok.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error about %q", err, want)
			}
		})
	}
	encode := func(tok *tokenizer.Tokenizer) { tok.Encode(strings.Repeat("a", 40)+"b", false) }
	nested := map[string]any{"Regex": "(a|aa)+$"}
	f("split", "takes too long", map[string]any{"pre_tokenizer": map[string]any{"type": "Split", "pattern": nested, "behavior": "Isolated", "invert": false}}, encode)
	f("normalizer", "takes too long", map[string]any{"normalizer": map[string]any{"type": "Replace", "pattern": nested, "content": "x"}}, encode)
	f("growth", "grows", map[string]any{"normalizer": map[string]any{"type": "Sequence", "normalizers": replaceMany()}}, encode)
	f("decoder", "grows", map[string]any{"decoder": map[string]any{"type": "Sequence", "decoders": replaceMany()}},
		func(tok *tokenizer.Tokenizer) { tok.Decode(make([]int, 100), false) })
}

// A long text is not an attack: a pattern that needs a few steps per character has no limit on the text's length.
func TestLongTextsAreWithinTheLimits(t *testing.T) {
	tok := hostile(t, map[string]any{
		"normalizer":    map[string]any{"type": "Replace", "pattern": map[string]string{"Regex": "b|c+"}, "content": "a"},
		"pre_tokenizer": map[string]any{"type": "Split", "pattern": map[string]string{"Regex": `\p{L}+|\s+(?!\S)|\s+`}, "behavior": "Isolated", "invert": false},
	})
	text := strings.Repeat("aaaa  ", 500_000)
	tok.Encode(text, false)
	if err := tok.Err(); err != nil {
		t.Error(err)
	}
}
