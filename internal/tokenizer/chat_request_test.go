package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
)

func TestRenderRequest(t *testing.T) {
	load := func(template string) *Tokenizer {
		t.Helper()
		dir := testkit.ChatTokenizer(t)
		if err := os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(template), 0o600); err != nil {
			t.Fatal(err)
		}
		tok, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	f := func(tok *Tokenizer, body, want string) {
		t.Helper()
		if got, ok, err := tok.RenderRequest([]byte(body)); !ok || err != nil || got != want {
			t.Errorf("%s: %q, %v, %v, not %q", body, got, ok, err, want)
		}
	}
	const more = `{% for c in messages[-1].tool_calls %}{{ c.function | tojson }}{% endfor %}{% if add_generation_prompt %}>{% endif %}`
	plain := load(`{{ tools | length if tools }}{% for m in messages %}[{{ m.content | trim }}]{% endfor %}{{ thinking }}` + more)
	f(plain, `{"model":"m","stream":true,"messages":[{"role":"user","content":" hi "}]}`, "[hi]>")
	f(plain, `{"messages":[{"content":"a"}],"tools":[1,2],"chat_template_kwargs":{"thinking":"no","tools":7}}`, "2[a]no>")
	f(plain, `{"messages":[{"content":"a"}],"add_generation_prompt":false}`, "[a]")
	f(plain, `{"messages":[{"content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]}`, "[a\nb]>")
	// Arguments of calls are objects to a template; the order of their keys stays.
	f(plain, `{"messages":[{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"z\": 1, \"a\": 2}"}}]}]}`, `[]{"name": "f", "arguments": {"z": 1, "a": 2}}>`)
	f(plain, `{"messages":[{"content":"","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}]}`, `[]{"name": "f", "arguments": "{"}>`)
	// Fields that are null are missing to a template.
	if got, err := plain.Render([]byte(`[{"role":"assistant","content":null}]`), true); err != nil || got != "[]>" {
		t.Errorf("%q, %v", got, err)
	}
	parts := load(`{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}({{ p.text }}){% endfor %}{% endif %}{% endfor %}`)
	f(parts, `{"messages":[{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`, "(a)(b)")
	f(parts, `{"messages":[{"content":"a"}]}`, "a")
	for _, body := range []string{``, `[]`, `{"prompt":"a"}`, `{"messages":7}`} {
		if _, ok, err := plain.RenderRequest([]byte(body)); ok || err != nil {
			t.Errorf("%s: %v, %v", body, ok, err)
		}
	}
	if _, _, err := load(`{{ raise_exception("roles") }}`).RenderRequest([]byte(`{"messages":[{}]}`)); err == nil || !strings.Contains(err.Error(), "roles") {
		t.Error(err)
	}
	if plain.Prefix() != "<s>" || named(t, "model byte-level BPE").Prefix() != "" {
		t.Errorf("%q and %q", plain.Prefix(), named(t, "model byte-level BPE").Prefix())
	}
}
