package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/tokenizer/model"
	"github.com/redline-bench/redline/internal/tokenizer/split"
)

// tekkenJSON is the part of Mistral's tekken.json that encoding needs.
type tekkenJSON struct {
	Config struct {
		Pattern string `json:"pattern"`
		Size    int    `json:"default_vocab_size"`
		Special int    `json:"default_num_special_tokens"`
	} `json:"config"`
	Vocab []struct {
		Rank  int    `json:"rank"`
		Bytes []byte `json:"token_bytes"`
	} `json:"vocab"`
	SpecialTokens []struct {
		Rank int    `json:"rank"`
		Text string `json:"token_str"`
	} `json:"special_tokens"`
}

// tekkenSpecial are the special tokens of files that do not list them.
var tekkenSpecial = [...]string{
	"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]",
	"[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
}

// parseTekken reads a tekken.json: ranks as tiktoken has them, behind special tokens that have the first ids. As in
// Mistral's own package special tokens are never found in texts.
func parseTekken(data []byte) (*Tokenizer, error) {
	var f tekkenJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("it is no tekken.json: %w", err)
	}
	c := &f.Config
	if c.Pattern == "" || c.Special < 2 || c.Size-c.Special < 256 || len(f.Vocab) < c.Size-c.Special {
		return nil, errors.New("it is no tekken.json: its pattern, its sizes or its vocabulary are missing")
	}
	vocab, order := make(map[string]int, len(f.Vocab)), make(map[string]uint32, len(f.Vocab))
	for _, v := range f.Vocab {
		if v.Rank < 0 || v.Rank >= c.Size-c.Special {
			continue // the file has more than the model
		}
		text := string(model.ToByteLevel(nil, string(v.Bytes)))
		vocab[text], order[text] = v.Rank+c.Special, uint32(v.Rank)
	}
	m, err := model.NewBPE(model.BPEConfig{Vocab: vocab, Order: order, ByteLevel: true, IgnoreMerges: true})
	if err != nil {
		return nil, err
	}
	t := newTokenizer()
	t.model = m
	if t.pre, err = split.Pattern(c.Pattern, split.Isolated, false, t.guard); err != nil {
		return nil, err
	}
	t.added = newAdded(nil, m, nil, t.guard)
	name := func(id int, text string) { t.added.texts[id], t.added.special[text] = text, true }
	for id := range c.Special {
		if id < len(tekkenSpecial) && f.SpecialTokens == nil {
			name(id, tekkenSpecial[id])
		} else {
			name(id, fmt.Sprintf("<SPECIAL_%d>", id))
		}
	}
	begin := 1
	for _, s := range f.SpecialTokens {
		name(s.Rank, s.Text)
		if s.Text == "<s>" {
			begin = s.Rank
		}
	}
	t.decoder = decoder{decodeBytes}
	t.post.before = []int{begin}
	return t, nil
}
