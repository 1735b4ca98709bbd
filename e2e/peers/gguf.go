package peers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
)

// The tiny language model: large enough for llama.cpp to run all of its code, small enough to cost nothing.
const (
	llamaContext = 4096
	llamaWidth   = 64
	llamaHeads   = 2
	llamaInner   = 128
)

// llamaWords are the pieces of text that the model says, each one token. Single letters make any prompt readable.
var llamaWords = []string{
	"▁alpha", "▁beta", "▁gamma", "▁delta", "▁epsilon", "▁zeta", "▁eta", "▁theta", "▁iota", "▁kappa", "▁lambda", "▁mu",
	"▁nu", "▁xi", "▁omicron", "▁pi", "▁rho", "▁sigma", "▁tau", "▁upsilon", "▁phi", "▁chi", "▁psi", "▁omega",
}

// llamaTemplate turns the messages of a chat into a prompt.
const llamaTemplate = `{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}
{% endfor %}assistant:`

// WriteLlama writes a llama model with one layer and random weights, in the GGUF format, version 3. The words have
// weights of their own and everything else weighs nothing, so that it nearly always says words.
func WriteLlama(path string) error {
	tokens, scores, kinds := llamaVocabulary()
	var g gguf
	g.text("general.architecture", "llama")
	g.text("general.name", "tiny")
	for _, v := range []struct {
		key   string
		value uint32
	}{
		{"llama.block_count", 1},
		{"llama.context_length", llamaContext},
		{"llama.embedding_length", llamaWidth},
		{"llama.feed_forward_length", llamaInner},
		{"llama.attention.head_count", llamaHeads},
		{"llama.attention.head_count_kv", llamaHeads},
		{"llama.rope.dimension_count", llamaWidth / llamaHeads},
		{"llama.vocab_size", uint32(len(tokens))},
		{"tokenizer.ggml.unknown_token_id", 0},
		{"tokenizer.ggml.bos_token_id", 1},
		{"tokenizer.ggml.eos_token_id", 2},
	} {
		g.value(v.key, ggufUint32, v.value)
	}
	g.value("llama.attention.layer_norm_rms_epsilon", ggufFloat32, float32(1e-5))
	g.text("tokenizer.ggml.model", "llama")
	g.text("tokenizer.chat_template", llamaTemplate)
	g.texts("tokenizer.ggml.tokens", tokens)
	g.list("tokenizer.ggml.scores", ggufFloat32, len(scores), scores)
	g.list("tokenizer.ggml.token_type", ggufInt32, len(kinds), kinds)

	r := rand.New(rand.NewPCG(1, 2))
	g.weights("token_embd.weight", normal(r, llamaWidth*len(tokens), 1), llamaWidth, len(tokens))
	g.weights("output_norm.weight", ones(llamaWidth), llamaWidth)
	out := normal(r, llamaWidth*len(tokens), 1)
	clear(out[:llamaWidth*(len(tokens)-len(llamaWords))])
	g.weights("output.weight", out, llamaWidth, len(tokens))
	g.weights("blk.0.attn_norm.weight", ones(llamaWidth), llamaWidth)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		g.weights("blk.0."+name+".weight", normal(r, llamaWidth*llamaWidth, 0.1), llamaWidth, llamaWidth)
	}
	g.weights("blk.0.ffn_norm.weight", ones(llamaWidth), llamaWidth)
	g.weights("blk.0.ffn_gate.weight", normal(r, llamaWidth*llamaInner, 0.1), llamaWidth, llamaInner)
	g.weights("blk.0.ffn_up.weight", normal(r, llamaWidth*llamaInner, 0.1), llamaWidth, llamaInner)
	g.weights("blk.0.ffn_down.weight", normal(r, llamaWidth*llamaInner, 0.1), llamaInner, llamaWidth)
	return os.WriteFile(path, g.bytes(), 0o644)
}

// llamaVocabulary has the marks, a token for each byte, the printable letters, and the words at the end.
func llamaVocabulary() (tokens []string, scores []float32, kinds []int32) {
	const unknown, control, plain, single = 2, 3, 1, 6
	add := func(text string, score float32, kind int32) {
		tokens, scores, kinds = append(tokens, text), append(scores, score), append(kinds, kind)
	}
	add("<unk>", 0, unknown)
	add("<s>", 0, control)
	add("</s>", 0, control)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), 0, single)
	}
	for c := '!'; c <= '~'; c++ {
		add(string(c), -1000, plain)
	}
	add("▁", -1000, plain)
	for i, w := range llamaWords {
		add(w, -float32(i), plain)
	}
	return tokens, scores, kinds
}

func normal(r *rand.Rand, n int, scale float64) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64() * scale)
	}
	return w
}

func ones(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

// The types of values in a GGUF file.
const (
	ggufUint32  uint32 = 4
	ggufInt32   uint32 = 5
	ggufFloat32 uint32 = 6
	ggufString  uint32 = 8
	ggufArray   uint32 = 9
)

// ggufAlign is where tensors may begin.
const ggufAlign = 32

// gguf collects the parts of a file: pairs of keys and values, the directory of the tensors, and their data.
type gguf struct {
	pairs, directory, data bytes.Buffer
	keys, tensors          uint64
}

func put(b *bytes.Buffer, v any) {
	_ = binary.Write(b, binary.LittleEndian, v) // a buffer takes everything of a fixed size
}

func putText(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func (g *gguf) key(name string, kind uint32) {
	g.keys++
	putText(&g.pairs, name)
	put(&g.pairs, kind)
}

func (g *gguf) value(name string, kind uint32, v any) {
	g.key(name, kind)
	put(&g.pairs, v)
}

func (g *gguf) text(name, value string) {
	g.key(name, ggufString)
	putText(&g.pairs, value)
}

func (g *gguf) texts(name string, values []string) {
	g.list(name, ggufString, len(values), nil)
	for _, v := range values {
		putText(&g.pairs, v)
	}
}

func (g *gguf) list(name string, kind uint32, n int, values any) {
	g.key(name, ggufArray)
	put(&g.pairs, kind)
	put(&g.pairs, uint64(n))
	if values != nil {
		put(&g.pairs, values)
	}
}

// weights adds a tensor of 32-bit floats; the first of its dimensions is the one that lies together.
func (g *gguf) weights(name string, w []float32, shape ...int) {
	g.tensors++
	putText(&g.directory, name)
	put(&g.directory, uint32(len(shape)))
	for _, n := range shape {
		put(&g.directory, uint64(n))
	}
	put(&g.directory, uint32(0)) // float 32
	put(&g.directory, uint64(g.data.Len()))
	put(&g.data, w)
	align(&g.data)
}

func align(b *bytes.Buffer) { b.Write(make([]byte, (ggufAlign-b.Len()%ggufAlign)%ggufAlign)) }

func (g *gguf) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, uint32(3))
	put(&b, g.tensors)
	put(&b, g.keys)
	b.Write(g.pairs.Bytes())
	b.Write(g.directory.Bytes())
	align(&b)
	b.Write(g.data.Bytes())
	return b.Bytes()
}
