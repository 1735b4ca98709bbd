package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/tokenizer"
)

var models = []string{"llama3", "qwen2_5", "gemma3", "deepseek_v3", "llama2", "gpt2", "gpt4o", "bert", "mistral_nemo", "command_r_plus"}

func install(t *testing.T) *Oracle {
	t.Helper()
	o, err := Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "the tokenizer beside Hugging Face's", err, "python3 with venv, curl and go")
	}
	return o
}

// count is how many texts each tokenizer is asked: 50,000 in `make test-heavy`.
func count() int {
	if outcome.Heavy() {
		return 50_000
	}
	return 2_000
}

func TestSameIDs(t *testing.T) {
	o := install(t)
	input, err := o.Texts(t.Context(), count(), 11)
	if err != nil {
		t.Fatal(err)
	}
	texts := read[string](t, input)
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			answers, err := o.IDs(t.Context(), name, input)
			if err != nil {
				t.Fatal(err)
			}
			tok, err := tokenizer.Load(o.Model(name))
			if err != nil {
				t.Fatal(err)
			}
			wrong, newer := 0, 0
			list := read[Answer](t, answers)
			if len(list) != len(texts) {
				t.Fatalf("%d answers to %d texts", len(list), len(texts))
			}
			for i, want := range list {
				msg := differs(tok, texts[i], want)
				switch {
				case msg == "":
				case strings.ContainsFunc(texts[i], unassigned):
					newer++
				default:
					if wrong++; wrong <= 3 {
						t.Error(msg)
					}
				}
			}
			if newer > len(texts)/1000 {
				t.Errorf("%d of %d texts with characters that are newer than Go's tables differ", newer, len(texts))
			}
			t.Logf("%d of %d texts are the same; %d that differ have characters that are newer than Go's tables", len(texts)-wrong-newer, len(texts), newer)
		})
	}
}

// unassigned tells characters that Go's Unicode does not have. The package has a newer one.
func unassigned(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C)
}

func differs(tok *tokenizer.Tokenizer, text string, want Answer) string {
	if got := tok.Encode(text, true); !slices.Equal(got, want.IDs) {
		return fmt.Sprintf("%q: %v, the package says %v", text, got, want.IDs)
	}
	if got := tok.Encode(text, false); !slices.Equal(got, want.Plain) {
		return fmt.Sprintf("%q without special tokens: %v, the package says %v", text, got, want.Plain)
	}
	if got := tok.Decode(want.IDs, false); got != want.Text {
		return fmt.Sprintf("%v: %q, the package says %q", want.IDs, got, want.Text)
	}
	if got := tok.Decode(want.IDs, true); got != want.Clean {
		return fmt.Sprintf("%v: %q, the package says %q", want.IDs, got, want.Clean)
	}
	return ""
}

// read reads lines of JSON.
func read[T any](t *testing.T, text []byte) []T {
	t.Helper()
	var list []T
	d := json.NewDecoder(bytes.NewReader(text))
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func TestCommand(t *testing.T) {
	o := install(t)
	bin := binary.Built(t)
	run := func(in string, args ...string) (out, message string, code int) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), append([]string{"tokenize", "--tokenizer", o.Model("llama3")}, args...)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &stdout, &stderr
		_ = cmd.Run() // the code tells
		return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
	}
	f := func(in, want, message string, code int, args ...string) {
		t.Helper()
		out, text, got := run(in, args...)
		if out != want || !strings.Contains(text, message) || got != code || strings.Count(text, "\n") > 1 {
			t.Errorf("%q %v: %q, %q, %d", in, args, out, text, got)
		}
	}
	f("\"Hello world\"\n\"\"\n", "[9906,1917]\n[]\n", "", 0, "--no-special")
	f("\"Hello world\"", "2\n", "", 0, "--count", "--no-special")
	f("[9906,1917]\n", "\"Hello world\"\n", "", 0, "--decode")
	f("\"a\"\nHello\n", "[64]\n", "line 2", 99, "--no-special")
	f("7\n", "", "line 1", 99)
	f("\"a\"\n", "", "is not a JSON array", 99, "--decode")
}

// conversations are those that templates are tried with, as lines of JSON.
func conversations() []string {
	const (
		tools = `"tools":[{"type":"function","function":{"name":"weather","description":"The \"weather\" <now> & then","parameters":{"type":"object",
			"properties":{"city":{"type":"string","description":"Stadt für ü"},"unit":{"type":"string","enum":["C","F"]}},"required":["city"]}}}]`
		calls = `"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"weather","arguments":{"city":"Köln","days":2}}}]`
	)
	var list []string
	for _, m := range []string{
		`{"role":"user","content":"Hi"}`,
		`{"role":"system","content":" Be brief.\n"},{"role":"user","content":"Hi"}`,
		`{"role":"user","content":"  a\nb "},{"role":"assistant","content":"ok"},{"role":"user","content":"and?"}`,
		`{"role":"user","content":"q"},{"role":"assistant","content":"<think>\nx\n</think>\n\ny"},{"role":"user","content":"r"},{"role":"assistant","content":"s"}`,
		`{"role":"assistant","content":"first"}`,
		`{"role":"user","content":"a"},{"role":"user","content":"b"}`,
		`{"role":"user","content":"w?"},{"role":"assistant","content":"",` + calls + `},{"role":"tool","content":"sunny","name":"weather","tool_call_id":"abcdefghi"},{"role":"user","content":"thanks"}`,
		`{"role":"user","content":"w?"},{"role":"assistant","content":null,` + calls + `},{"role":"tool","content":"{\"t\": 20}","name":"weather","tool_call_id":"abcdefghi"}`,
		`{"role":"user","content":[{"type":"text","text":"part 1"},{"type":"text","text":" part 2"}]}`,
		`{"role":"user","content":"q"},{"role":"assistant","content":"y","reasoning_content":"thought"},{"role":"user","content":"r 😀"}`,
		``,
	} {
		for _, more := range []string{
			`"add_generation_prompt":false`, `"add_generation_prompt":true`, `"add_generation_prompt":true,"enable_thinking":false`,
			`"add_generation_prompt":true,` + strings.ReplaceAll(strings.ReplaceAll(tools, "\n", ""), "\t", ""),
		} {
			// Some templates write the date of today, which is another one when the texts that transformers made are read again.
			list = append(list, `{"messages":[`+m+`],"date_string":"26 Jul 2024",`+more+`}`)
		}
	}
	return list
}

func TestSameTemplates(t *testing.T) {
	o := install(t)
	list := conversations()
	for _, name := range []string{"llama3", "llama3_2", "qwen2_5", "qwen3", "gemma3", "deepseek_v3", "mistral_nemo", "command_r_plus"} {
		t.Run(name, func(t *testing.T) {
			tok, err := tokenizer.Load(o.Model(name))
			if err != nil {
				t.Fatal(err)
			}
			out, err := o.Rendered(t.Context(), name, []byte(strings.Join(list, "\n")))
			if err != nil {
				t.Fatal(err)
			}
			answers := read[*string](t, out)
			if len(answers) != len(list) {
				t.Fatalf("%d answers to %d conversations", len(answers), len(list))
			}
			rendered := 0
			for i, c := range list {
				want := answers[i]
				got, err := tok.Render([]byte(c), false)
				if (err != nil) != (want == nil) || want != nil && got != *want {
					said := "nothing"
					if want != nil {
						said = *want
					}
					t.Errorf("%s:\n%q, %v\ntransformers says\n%q", c, got, err, said)
				}
				if want != nil {
					rendered++
				}
			}
			if rendered == 0 {
				t.Error("transformers renders nothing")
			}
			t.Logf("%d conversations, of which %d have a text", len(list), rendered)
		})
	}
}
