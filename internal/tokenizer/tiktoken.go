package tokenizer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// encoding is what is known of a file of ranks: such files hold neither a pattern nor special tokens.
type encoding struct {
	names   []string // how files are called
	size    int      // number of ranks
	pattern string
	special map[string]int
	bos     string
}

func encodings() []encoding {
	llama := map[string]int{}
	for i, t := range []string{
		"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
		"<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>",
	} {
		llama[t] = 128000 + i
	}
	for i := len(llama); i < 256; i++ {
		llama[fmt.Sprintf("<|reserved_special_token_%d|>", i-9)] = 128000 + i
	}
	end := func(id int) map[string]int { return map[string]int{"<|endoftext|>": id} }
	return []encoding{
		{names: []string{"cl100k"}, size: 100256, pattern: split.CL100K, special: map[string]int{
			"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276,
		}},
		{names: []string{"o200k"}, size: 199998, pattern: split.O200K, special: map[string]int{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}},
		{names: []string{"r50k", "gpt2"}, size: 50256, pattern: split.GPT2, special: end(50256)},
		{names: []string{"p50k"}, size: 50280, pattern: split.GPT2, special: end(50256)},
		{names: []string{"qwen"}, size: 151643, pattern: split.Qwen, special: map[string]int{"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}},
		{names: []string{"llama"}, size: 128000, pattern: split.CL100K, special: llama, bos: "<|begin_of_text|>"},
		{names: []string{"kimi"}, size: 163584, pattern: split.Kimi, special: map[string]int{"[BOS]": 163584, "[EOS]": 163585}},
	}
}

// listed are the special tokens that the configuration beside a file of ranks has, or the encoding's own.
func (e *encoding) listed(dir string) map[string]int {
	var config map[string]json.RawMessage
	var tokens map[int]addedToken
	if readJSON(filepath.Join(dir, "tokenizer_config.json"), &config) != nil || json.Unmarshal(config["added_tokens_decoder"], &tokens) != nil || len(tokens) == 0 {
		return e.special
	}
	out := maps.Clone(e.special)
	for id, t := range tokens {
		maps.DeleteFunc(out, func(_ string, old int) bool { return old == id })
		out[t.Content] = id
	}
	return out
}

// looksLikeRanks tells a file of ranks from a SentencePiece model: lines of base64 and a number.
func looksLikeRanks(data []byte) bool {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	token, rank, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
	_, err1 := base64.StdEncoding.DecodeString(token)
	_, err2 := strconv.Atoi(rank)
	return ok && err1 == nil && err2 == nil
}

// parseRanks reads a file of ranks, as tiktoken has them.
func parseRanks(data []byte, path string) (*Tokenizer, error) {
	vocab, order := map[string]int{}, map[string]uint32{}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		token, rank, _ := strings.Cut(string(line), " ")
		raw, err := base64.StdEncoding.DecodeString(token)
		id, bad := strconv.ParseUint(rank, 10, 31)
		if err = errors.Join(err, bad); err != nil {
			return nil, fmt.Errorf("line %d is not base64 and a rank", n)
		}
		text := string(model.ToByteLevel(nil, string(raw)))
		vocab[text], order[text] = int(id), uint32(id)
	}
	e, err := pickEncoding(filepath.Base(path), len(order))
	if err != nil {
		return nil, err
	}
	t := newTokenizer()
	if t.pre, err = split.Pattern(e.pattern, split.Isolated, false, t.guard); err != nil {
		return nil, err
	}
	var tokens []addedToken
	for s, id := range e.listed(filepath.Dir(path)) {
		vocab[s] = id
		tokens = append(tokens, addedToken{Content: s, Special: true})
	}
	m, err := model.NewBPE(model.BPEConfig{Vocab: vocab, Order: order, ByteLevel: true, IgnoreMerges: true})
	if err != nil {
		return nil, err
	}
	t.model = m
	t.added = newAdded(tokens, m, nil, t.guard)
	t.decoder = decoder{decodeBytes}
	if e.bos != "" {
		t.post.before = []int{e.special[e.bos]}
	}
	return t, nil
}

// pickEncoding knows an encoding by the name of its file, or by its size.
func pickEncoding(name string, size int) (encoding, error) {
	name = strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name)))
	for _, e := range encodings() {
		for _, n := range e.names {
			if strings.Contains(name, n) {
				return e, nil
			}
		}
	}
	for _, e := range encodings() {
		if e.size == size {
			return e, nil
		}
	}
	return encoding{}, fmt.Errorf("a file of %d ranks does not say how to cut words: name it after its encoding (cl100k, o200k, p50k, r50k, qwen, llama or kimi), or give a tokenizer.json", size)
}
