package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
)

// named is the tokenizer of a vector.
func named(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	for _, v := range vectors(tb) {
		if v.Name == name {
			t, err := Parse(v.Tokenizer)
			if err != nil {
				tb.Fatal(err)
			}
			return t
		}
	}
	tb.Fatalf("there is no vector %q", name)
	return nil
}

func TestConcurrentUse(t *testing.T) {
	tok := named(t, "model byte-level BPE")
	want := tok.Encode("the quick brown fox", true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				tok.Encode(fmt.Sprint("word", i, " 日本語"), false)
				if got := tok.Encode("the quick brown fox", true); !slices.Equal(got, want) {
					t.Errorf("%v, not %v", got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestNoAllocationOnceWarm(t *testing.T) {
	text := strings.Repeat("The quick brown fox, 123 times; naïve 日本語 'twas.\n", 20)
	for _, name := range []string{"model byte-level BPE", "model BPE byte fallback", "model WordPiece", "model Unigram False", "pattern o200k"} {
		tok := named(t, name)
		var ids []int
		run := func() { ids = tok.AppendIDs(ids[:0], text, true) }
		run()
		if n := testkit.Allocs(run); n > 0 {
			t.Errorf("%s: %v allocations a text", name, n)
		}
	}
}

func TestWholeIgnoresLimits(t *testing.T) {
	tok := named(t, "limits right")
	text := strings.Repeat("long ", 50)
	if n := tok.Count(text, true); n > 8 {
		t.Errorf("%d ids past the limit", n)
	}
	if n := tok.Whole().Count(text, true); n < 50 {
		t.Errorf("whole has %d ids", n)
	}
}

func TestInvalidUTF8(t *testing.T) {
	tok := named(t, "model byte-level BPE")
	if got, want := tok.Encode("a\xffb", false), tok.Encode("a\ufffdb", false); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestLongWords(t *testing.T) {
	// Words past the limit of the short way merge with a heap; the result must be the same as piece by piece.
	tok := named(t, "model byte-level BPE")
	unit := tok.Encode("lower", false)
	long := tok.Encode(strings.Repeat("lower", 400), false)
	if tok.Decode(long, false) != strings.Repeat("lower", 400) || len(long) > 400*len(unit) {
		t.Errorf("%d ids for 400 × %d", len(long), len(unit))
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	f := func(path, want string) {
		t.Helper()
		_, err := Load(path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", path, err, want)
		}
	}
	f(filepath.Join(dir, "none"), "no such file")
	f(t.TempDir(), "the folder has none of tokenizer.json")
	f(write("a.json", "{"), "not a tokenizer.json")
	f(write("b.json", "{}"), "it has no model")
	f(write("c.json", `{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}}`), "not in the vocabulary")
	f(write("d.json", `{"model":{"type":"Magic","vocab":{"a":0}}}`), `unknown type "Magic"`)
	f(write("e.json", `{"normalizer":{"type":"Odd"},"model":{"type":"WordLevel","vocab":{"a":0}}}`), `normalizer: unknown type "Odd"`)
	f(write("f.json", `{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"("},"behavior":"Isolated","invert":false},"model":{"type":"WordLevel","vocab":{"a":0}}}`), "missing closing )")
	f(write("g.tiktoken", "YQ== 0\nYg== 1\n"), "does not say how to cut words")
	f(write("h.model", "\x01\x02garbage"), "neither a SentencePiece model")
	f(write("cl100k.tiktoken", "YQ== 0\n!! x\n"), "line 2")
}

func TestRanks(t *testing.T) {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, s := range []string{"he", "ll", "hell", "hello", " w", "or"} {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(s)), 256+i)
	}
	path := filepath.Join(t.TempDir(), "cl100k_base.tiktoken")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	ids := tok.Encode("hello world<|endoftext|>", true)
	if want := []int{259, 260, 261, 'l', 'd', 100257}; !slices.Equal(ids, want) {
		t.Errorf("%v, not %v", ids, want)
	}
	if s := tok.Decode(ids, true); s != "hello world" {
		t.Errorf("%q", s)
	}
}

func TestChatTemplate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tokenizer.json":        `{"model":{"type":"WordLevel","vocab":{"a":0}}}`,
		"tokenizer_config.json": `{"bos_token":{"content":"<s>"},"eos_token":"</s>","chat_template":[{"name":"tool_use","template":"{{ tools[0] | tojson }}"},{"name":"default","template":"{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m['content'] | trim }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := func(conversation string, prompt bool, want string) {
		t.Helper()
		if got, err := tok.Render([]byte(conversation), prompt); err != nil || got != want {
			t.Errorf("%s: %q, %v, not %q", conversation, got, err, want)
		}
	}
	f(`[{"role":"user","content":" hi "}]`, true, "<s>[user]hi</s>[assistant]")
	f(`{"messages":[{"role":"user","content":"hi"}],"bos_token":""}`, false, "[user]hi</s>")
	f(`{"messages":[{"role":"user","content":"hi"}],"add_generation_prompt":false,"tools":null}`, true, "<s>[user]hi</s>")
	f(`{"messages":[{}],"tools":[{"z":1,"a":2}]}`, false, `{"z": 1, "a": 2}`) // the order of keys stays
	for _, bad := range []string{``, `7`, `[]`, `{}`, `{"messages":"hi"}`, `[] []`} {
		if _, err := tok.Render([]byte(bad), false); !errors.Is(err, errConversation) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if tok.Name() != filepath.Base(dir) || !tok.HasTemplate() {
		t.Errorf("name %q, template %v", tok.Name(), tok.HasTemplate())
	}
	if _, err := named(t, "template").Render(nil, false); err == nil || !strings.Contains(err.Error(), "no chat template") {
		t.Errorf("without a template: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for i, v := range vectors(f) {
		if i%8 == 0 && len(v.Tokenizer) < 4000 {
			f.Add([]byte(v.Tokenizer), "Hello, wörld 123")
		}
	}
	f.Add([]byte(`{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5]]}}`), "aab")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Parse(data)
		if err != nil {
			return
		}
		tok.Decode(tok.Encode(text, true), true)
	})
}

func FuzzEncode(f *testing.F) {
	level, fall := named(f, "model byte-level BPE"), named(f, "model BPE byte fallback")
	for _, s := range []string{"", "Hello", "a\u0301\u0300", "日本語 \r\n 12345", "\xff\xfe", strings.Repeat("ab", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids := level.Encode(s, false)
		if want := strings.ToValidUTF8(s, "\ufffd"); level.Decode(ids, false) != want {
			t.Errorf("%q came back as %q", s, level.Decode(ids, false))
		}
		if level.Count(s, false) != len(ids) {
			t.Error("count differs")
		}
		fall.Encode(s, true)
	})
}

func FuzzPiece(f *testing.F) {
	f.Add([]byte("\x0a\x0a\x0a\x05<unk>\x18\x02\x0a\x08\x0a\x01a\x15\x00\x00\x80\xbf"), "aa")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if tok, err := parsePiece(data); err == nil {
			tok.Decode(tok.Encode(text, true), false)
		}
		if tok, err := parseRanks(data, "cl100k"); err == nil {
			tok.Encode(text, true)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog; it's 2024.\n\tif err != nil { return err }\n", 100)
	for _, name := range []string{"model byte-level BPE", "model BPE byte fallback", "model WordPiece", "model Unigram False"} {
		tok := named(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			var ids []int
			for b.Loop() {
				ids = tok.AppendIDs(ids[:0], text, false)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	var raw json.RawMessage
	for _, v := range vectors(b) {
		if v.Name == "model byte-level BPE" {
			raw = v.Tokenizer
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func TestKimi(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	for i, s := range []string{"ab", "中", "文", "中文", "b中"} {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(s)), 256+i)
	}
	for name, text := range map[string]string{
		"kimi.tiktoken":         b.String(),
		"tokenizer_config.json": `{"added_tokens_decoder":{"300":{"content":"<|im_end|>","special":true}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	// Chinese is apart from what stands before it, and special tokens are those of the configuration.
	if ids := tok.Encode("ab中文<|im_end|>", false); !slices.Equal(ids, []int{256, 259, 300}) {
		t.Errorf("%v", ids)
	}
}

func TestTekken(t *testing.T) {
	var f tekkenJSON
	f.Config.Pattern, f.Config.Size, f.Config.Special = `\p{L}+|[^\p{L}]+`, 256+20+10, 10
	for i := range 256 + 26 {
		text := []byte{byte(i)}
		if i >= 256 {
			text = fmt.Appendf(nil, "a%c", 'a'+i%26)
		}
		f.Vocab = append(f.Vocab, struct {
			Rank  int    `json:"rank"`
			Bytes []byte `json:"token_bytes"`
		}{i, text})
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tekken.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	tok, err := Load(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	ids := tok.Encode("aw <s>", true)
	if want := []int{1, 256 + 10, ' ' + 10, '<' + 10, 's' + 10, '>' + 10}; !slices.Equal(ids, want) {
		t.Errorf("%v, not %v", ids, want)
	}
	if s := tok.Decode(ids, false); s != "<s>aw <s>" {
		t.Errorf("%q", s)
	}
	if _, err := parseTekken([]byte(`{"config":{}}`)); err == nil || !strings.Contains(err.Error(), "no tekken.json") {
		t.Error(err)
	}
}
