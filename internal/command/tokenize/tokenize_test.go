package tokenize_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/cli"
	"github.com/redline-bench/redline/internal/command"
)

func TestTokenize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	file := `{"added_tokens":[{"id":3,"content":"<e>","special":true,"normalized":false}],"pre_tokenizer":{"type":"WhitespaceSplit"},
		"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<e>","type_id":0}}],
		"special_tokens":{"<e>":{"ids":[3]}}},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b<":2}}}`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(in string, code int, out, message string, args ...string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		p := &command.IO{Args: append([]string{"redline", "tokenize"}, args...), Stdin: strings.NewReader(in), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }}
		got := cli.Main(p)
		if got != code || stdout.String() != out || !strings.Contains(stderr.String(), message) || strings.Count(stderr.String(), "\n") > 1 {
			t.Errorf("%q %v: %d, %q, %q", in, args, got, stdout.String(), stderr.String())
		}
	}
	f("\"a b<\"\n\"x\"", command.ExitOK, "[1,2,3]\n[0,3]\n", "", "--tokenizer", path)
	f("\"a b<\"\r\n", command.ExitOK, "[1,2]\n", "", "-t", path, "--no-special")
	f("\"a\"\n\"\"\n", command.ExitOK, "2\n1\n", "", "-t", path, "--count")
	f("[1,2,3]\n[]\n", command.ExitOK, "\"a b< <e>\"\n\"\"\n", "", "-t", path, "--decode")
	f("[1,2,3]\n", command.ExitOK, "\"a b<\"\n", "", "-t", path, "--decode", "--no-special")
	f("", command.ExitOK, "", "", "-t", path)
	f("\""+strings.Repeat("a ", 1<<20)+"\"\n", command.ExitOK, "1048577\n", "", "-t", path, "--count")
	f("\"a\"\noops\n", command.ExitError, "[1,3]\n", "line 2: \"oops\" is not a JSON string", "-t", path)
	f("\n", command.ExitError, "", "line 1: an empty line", "-t", path)
	f("null\n", command.ExitError, "", "line 1: \"null\" is not a JSON string\n", "-t", path)
	f("\"a\"\n[\"a\"]\n", command.ExitError, "[1,3]\n", "line 2: ", "-t", path)
	f("\"a\"\n\"a\" b\n", command.ExitError, "[1,3]\n", "line 2: ", "-t", path)
	f("\"\\ud800\"\n\"\\u0000\"", command.ExitOK, "[0,3]\n[0,3]\n", "", "-t", path)
	// Ids that the vocabulary does not have are left out, as the package does; what is no id at all is an error.
	f("[1,4294967295]\n", command.ExitOK, "\"a\"\n", "", "-t", path, "--decode")
	for _, bad := range []string{"[1.5]", "[-1]", "[4294967296]", "[null]", "null", "[[1]]", "1"} {
		f("[1]\n"+bad+"\n", command.ExitError, "\"a\"\n", "line 2: \""+bad+"\" is not a JSON array of ids\n", "-t", path, "--decode")
	}
	f("[]\n", command.ExitError, "", "line 1: the tokenizer has no chat template", "-t", path, "--chat")
	config := `{"chat_template":"{% for m in messages %}{{ m.content }} {% endfor %}{% if add_generation_prompt %}b<{% endif %}"}`
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "tokenizer_config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f(`[{"content":"a"}]`, command.ExitOK, "[1]\n", "", "-t", path, "--chat")
	f(`{"messages":[{"content":"a"}]}`, command.ExitOK, "2\n", "", "-t", path, "--chat", "--count", "--generation-prompt")
	f(`[{"content":"a"}]`, command.ExitOK, "\"a b<\"\n", "", "-t", path, "--chat", "--render", "--generation-prompt")
	f("[{}]\n7\n", command.ExitError, "[]\n", "line 2: a conversation is", "-t", path, "--chat")
	f("", command.ExitError, "", "need --chat", "-t", path, "--render")
	f("", command.ExitError, "", "name the tokenizer")
	f("", command.ExitError, "", "no such file", "-t", path+"x")
	f("", command.ExitError, "", "excludes --count", "-t", path, "--count", "--decode")
	f("", command.ExitError, "", "standard input", "-t", path, "text")
}
