package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// ChatTokenizer writes the files of a small tokenizer with a chat template into a folder. Each word is a token, and so is
// each mark of the template. The tokenizer puts <s> before a text, and the template begins with <s> too.
func ChatTokenizer(tb testing.TB) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	const (
		tokenizer = `{"added_tokens":[{"id":1,"content":"<s>","special":true},{"id":2,"content":"<end>","special":true}],"pre_tokenizer":{"type":"WhitespaceSplit"},
			"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
			"special_tokens":{"<s>":{"ids":[1]}}},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0}}}`
		config = `{"bos_token":"<s>","chat_template":"{{ bos_token }}{% if tools %} tools {{ tools | length }}{% endif %}{% for m in messages %} ` +
			`{{ m.role }}: {{ m.content }} <end>{% endfor %}{% if add_generation_prompt %} assistant:{% endif %}"}`
	)
	for name, text := range map[string]string{"tokenizer.json": tokenizer, "tokenizer_config.json": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
