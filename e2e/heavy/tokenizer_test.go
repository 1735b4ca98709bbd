package heavy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// tokenizer writes a tokenizer in Hugging Face's form, one token for each byte, so that none need be downloaded.
func tokenizer(t *testing.T, dir string) {
	t.Helper()
	const begin = 256
	vocabulary := map[string]int{"<s>": begin}
	// The usual alphabet of byte-level tokenizers: bytes that print stand for themselves, others are moved up.
	moved := rune(256)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xa1 || b == 0xad {
			r = moved
			moved++
		}
		vocabulary[string(r)] = b
	}
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	files := map[string]any{
		"tokenizer.json": map[string]any{
			"version": "1.0",
			"added_tokens": []any{map[string]any{
				"id": begin, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true,
			}},
			// GenAI-Perf makes prompts of the tokens of a book, which it counts in every run: the beginning will do.
			"normalizer":    map[string]any{"type": "Replace", "pattern": map[string]any{"Regex": `\A(?m:.{50000})\K(?m:.*)`}, "content": ""},
			"pre_tokenizer": bytes, "decoder": bytes,
			"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{}},
		},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "<s>", "model_max_length": 1_000_000,
		},
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, v := range files {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(text))
	}
}
