package aiperf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
)

// files mean the same to AIPerf's loaders and to ours. The folder's image is made by the test.
var files = []struct {
	format dataset.Format
	text   string
}{
	{dataset.Single, `{"text":"What is deep learning?"}
{"texts":["Who are you?","Hello world"],"output_length":12,"role":"user"}
{"text":"later","delay":1234}
{"text":"with an image","image":"https://example.com/a.png","extra":{"temperature":0.5,"stop":["x"]}}
{"texts":[{"name":"a","contents":["one","two"]},{"name":"b","contents":["three"]}]}
{"text":"zażółć 你好 🙂 \u00e9 \\n"}
`},
	{dataset.Single, `{"text":"first","session_id":"s1"}
{"text":"other","session_id":"s2"}
{"text":"second","session_id":"s1","delay":10.5}
`},
	{dataset.Single, `{"text":"t0","timestamp":0}
{"text":"t1","timestamp":1000.25}
{"text":"t2","timestamp":2000}
`},
	{dataset.Multi, `{"session_id":"a","turns":[{"text":"one"},{"text":"two","delay":500,"output_length":3},{"texts":["x","y"]}]}
{"turns":[{"text":"alone"}]}
`},
	{dataset.Mooncake, `{"text_input":"Hello world","output_length":4,"timestamp":0}
{"messages":[{"role":"system","content":"be"},{"role":"user","content":"Hello"}],"output_length":4,"timestamp":10.5}
{"payload":{"prompt":"Hello","max_tokens":50},"timestamp":1000}
{"text_input":"again","session_id":"s","timestamp":2000,"extra":{"k":{"deep":[1,2]}}}
{"text_input":"and again","session_id":"s","delay":2}
`},
	{dataset.RawBody, `{"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":3}
{"model":"m","messages":[{"role":"user","content":"b"}],"stream":true}
`},
	{dataset.Inputs, `{"data":[{"session_id":"x","payloads":[{"messages":[{"role":"user","content":"a"}]},{"messages":[]}]},{"session_id":"y","payloads":[{"a":1}]}]}`},
}

func TestAIPerfReadsTheSamePrompts(t *testing.T) {
	p := install(t, peers.AIPerf)
	dir := t.TempDir()
	args := []string{"loaders.py"}
	var ours []any
	for i, f := range files {
		path := filepath.Join(dir, string(rune('a'+i))+".jsonl")
		if f.format == dataset.Inputs {
			path = filepath.Join(dir, "inputs.json")
		}
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, string(f.format), path)
		ours = append(ours, read(t, path, f.format))
	}
	lines := strings.Split(strings.TrimSpace(p.run(t, "python", args...)), "\n")
	if len(lines) < len(files) {
		t.Fatalf("AIPerf read %d of %d files", len(lines), len(files))
	}
	for i, line := range lines[len(lines)-len(files):] {
		var theirs any
		if err := json.Unmarshal([]byte(line), &theirs); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(ours[i], theirs); d != "" {
			t.Errorf("%s (-Redline +AIPerf):\n%s", files[i].format, d)
		}
	}
}

// read is a file as the script loaders.py prints it. Its form is found out, not named.
func read(t *testing.T, path string, format dataset.Format) any {
	t.Helper()
	s, err := dataset.Open(t.Context(), dataset.Options{Path: path, Once: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Describe().Format; got != format {
		t.Errorf("%s was taken for %s", format, got)
	}
	var list []any
	for c, ok := s.Next(); ok; c, ok = s.Next() {
		var turns []any
		for i := range c.Turns {
			turns = append(turns, turn(t, &c.Turns[i]))
		}
		list = append(list, turns)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	// Through JSON, so that numbers and maps are of the same types.
	return generic(t, list)
}

func turn(t *testing.T, u *llm.Turn) map[string]any {
	out := map[string]any{}
	put := func(key string, set bool, v any) {
		if set {
			out[key] = v
		}
	}
	put("timestamp", u.Timed, float64(u.At)/1e6)
	put("delay", u.Delay > 0, float64(u.Delay)/1e6)
	put("max_tokens", u.MaxTokens > 0, u.MaxTokens)
	put("role", u.Role != "" || u.Raw != nil && u.MaxTokens == 0 && !u.Timed, "user")
	put("texts", len(u.Texts) > 0 && u.Messages == nil, u.Texts)
	put("extra", len(u.Extra) > 0, u.Extra)
	put("raw", u.Raw != nil, u.Raw)
	put("messages", u.Messages != nil, u.Messages)
	var images []string
	for _, m := range u.Media {
		images = append(images, m.URL)
	}
	put("images", len(images) > 0, images)
	t.Helper()
	return out
}

func generic(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fields is a tokenizer whose tokens are words.
type fields struct{}

func (fields) Count(text string) int              { return len(strings.Fields(text)) }
func (f fields) Encode(text string, _ bool) []int { return make([]int, f.Count(text)) }

// Blocks of hash ids lie as AIPerf lays them: the same id is the same text, the last one may be short, what has no
// id is fresh, and what does not fit is refused.
func TestAIPerfLaysTheSameBlocks(t *testing.T) {
	p := install(t, peers.AIPerf)
	const size = 10
	cases := []struct {
		tokens int
		ids    []int
	}{
		{20, []int{1, 2}},
		{15, []int{1, 3}},
		{25, []int{1, 2}},
		{25, []int{1, 2}},
		{10, []int{1, 2}},
		{5, []int{1, 2}},
		{7, nil},
		{7, nil},
		{40, []int{2, 1, 2}},
		{30, []int{4, 4, 4}},
		{4, []int{9}},
		{24, []int{5, 6, 8}},
		{20, []int{5, 6, 7}},
		{99, []int{1}},
	}
	var asked []any
	var good []byte
	refused := map[int]bool{}
	for i, c := range cases {
		asked = append(asked, []any{c.tokens, append([]int{}, c.ids...), size})
		line, err := json.Marshal(map[string]any{"input_length": c.tokens, "hash_ids": c.ids})
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, '\n')
		s, err := openTrace(t, line, size)
		if err != nil {
			refused[i] = true
			continue
		}
		s.Close()
		good = append(good, line...)
	}
	s, err := openTrace(t, good, size)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var ours [][]int
	known := map[string]int{}
	for i := range cases {
		if refused[i] {
			ours = append(ours, nil)
			continue
		}
		c, _ := s.Next()
		var list []int
		for b := range slices.Chunk(strings.Fields(c.Turns[0].Texts[0]), size) {
			text := strings.Join(b, " ")
			if _, ok := known[text]; !ok {
				known[text] = len(known)
			}
			list = append(list, known[text])
		}
		ours = append(ours, list)
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	var theirs [][]int
	decode(t, p.run(t, "python", "blocks.py", string(text)), &theirs)
	if d := cmp.Diff(ours, theirs); d != "" {
		t.Errorf("blocks (-Redline +AIPerf):\n%s", d)
	}
}

func openTrace(t *testing.T, text []byte, size int) (*dataset.Source, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dataset.Open(t.Context(), dataset.Options{Path: path, Once: true, Trace: dataset.Trace{Block: size}}, fields{})
}
