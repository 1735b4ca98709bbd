package aiperf_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	oracle "github.com/redline-bench/redline/e2e/tokenizer"
	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/tokenizer"
)

type counter struct{ *tokenizer.Tokenizer }

func (c counter) Count(text string) int { return c.Tokenizer.Count(text, false) }

// Generated prompts have the requested length, counted by Hugging Face's own package and not only by ours.
func TestMadePromptsAreExact(t *testing.T) {
	o, err := oracle.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "made prompts by Hugging Face's tokenizers", err, "python3 with venv, curl and go")
	}
	for _, name := range []string{"llama3", "qwen2_5", "gemma3", "deepseek_v3", "llama2", "gpt2", "gpt4o", "bert"} {
		t.Run(name, func(t *testing.T) {
			tok, err := tokenizer.Load(o.Model(name))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			texts, lengths := prompts(t, counter{tok}, dir)
			answers, err := o.IDs(t.Context(), name, texts)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range bytes.Lines(answers) {
				var a oracle.Answer
				if err := json.Unmarshal(line, &a); err != nil {
					t.Fatal(err)
				}
				if len(a.Plain) != lengths[n] {
					t.Errorf("prompt %d: %d tokens asked for, %d by Hugging Face", n, lengths[n], len(a.Plain))
				}
				n++
			}
			if n != len(lengths) {
				t.Errorf("%d of %d prompts were counted", n, len(lengths))
			}
		})
	}
}

// prompts makes some of every sort: plain, with a shared start, with a marker, out of a trace's blocks.
func prompts(t *testing.T, tok dataset.Tokenizer, dir string) (texts []byte, lengths []int) {
	t.Helper()
	trace := filepath.Join(dir, "trace.jsonl")
	text := bytes.Repeat([]byte("{\"input_length\":300,\"hash_ids\":[1,2]}\n{\"input_length\":96,\"hash_ids\":[7,3]}\n{\"input_length\":17}\n"), 10)
	if err := os.WriteFile(trace, text, 0o600); err != nil {
		t.Fatal(err)
	}
	long := dataset.Lengths{Kind: dataset.Uniform, Min: 20, Max: 900}
	for _, opts := range []dataset.Options{
		{Input: long, Entries: 25},
		{Input: dataset.Lengths{Kind: dataset.Uniform, Min: 1, Max: 12}, Entries: 25},
		{Input: long, Entries: 25, Prefix: dataset.Prefix{Pool: 3, Length: 50}},
		{Input: long, Entries: 25, Bust: dataset.FirstTurnPrefix},
		{Input: long, Entries: 25, Bust: dataset.FirstTurnSuffix},
		{Path: trace, Trace: dataset.Trace{Block: 64}},
	} {
		opts.Once = true
		s, err := dataset.Open(t.Context(), opts, tok)
		if err != nil {
			t.Fatal(err)
		}
		for c, ok := s.Next(); ok; c, ok = s.Next() {
			line, err := json.Marshal(c.Turns[0].Texts[0])
			if err != nil {
				t.Fatal(err)
			}
			texts = append(append(texts, line...), '\n')
			lengths = append(lengths, c.Turns[0].InputTokens)
		}
		if i := s.Describe(); i.Inexact > 0 {
			t.Errorf("%d of them are not exact", i.Inexact)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return texts, lengths
}
