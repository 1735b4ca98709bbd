package tokenizer

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tekkenFile is a small tekken.json: 256 bytes, and one token more.
func tekkenFile() []byte {
	var vocab []string
	for i := range 256 {
		vocab = append(vocab, fmt.Sprintf(`{"rank":%d,"token_bytes":%q}`, i, base64.StdEncoding.EncodeToString([]byte{byte(i)})))
	}
	vocab = append(vocab, `{"rank":256,"token_bytes":"aGU="}`)
	return []byte(`{"config":{"pattern":"[a-z]+|.","default_vocab_size":259,"default_num_special_tokens":2},"vocab":[` + strings.Join(vocab, ",") + `]}`)
}

func FuzzTekken(f *testing.F) {
	f.Add(tekkenFile(), "hehe \xff")
	f.Add([]byte(`{"config":{"pattern":"a","default_vocab_size":999999999,"default_num_special_tokens":2},"vocab":[]}`), "a")
	f.Add([]byte(`{"config":{"pattern":"(","default_vocab_size":2,"default_num_special_tokens":-5}}`), "a")
	f.Fuzz(func(_ *testing.T, data []byte, text string) {
		if tok, err := parseTekken(data); err == nil {
			tok.Decode(tok.Encode(text, true), true)
		}
	})
}

// The files beside a tokenizer name templates and special tokens, in several forms.
func FuzzChat(f *testing.F) {
	conversation := []byte(`[{"role":"user","content":"hi"}]`)
	f.Add([]byte(`{"chat_template":"{% for m in messages %}{{ bos_token }}{{ m.content }}{% endfor %}","bos_token":{"content":"<s>"}}`), conversation)
	f.Add([]byte(`{"chat_template":[{"name":"tool_use","template":"{{ tools }}"},{"name":"default","template":"{{ x"}]}`), []byte(`{"messages":[{}],"tools":[1]}`))
	f.Add([]byte(`{"chat_template":5,"eos_token":null}`), []byte(`{}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, config, conversation []byte) {
		if err := os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), config, 0o600); err != nil {
			t.Fatal(err)
		}
		tok := &Tokenizer{}
		if tok.readChat(dir) != nil || !tok.HasTemplate() {
			return
		}
		if text, err := tok.Render(conversation, true); err != nil && text != "" {
			t.Errorf("%q beside %v", text, err)
		}
	})
}
