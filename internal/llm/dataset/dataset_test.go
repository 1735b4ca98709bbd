package dataset_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
)

// words is a tokenizer in small: a token is up to five letters of a word.
type words struct{}

func (words) Count(text string) int {
	n := 0
	for f := range strings.FieldsSeq(text) {
		n += (len(f) + 4) / 5
	}
	return n
}

func (w words) Encode(text string, _ bool) []int { return make([]int, w.Count(text)) }

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, o dataset.Options) *dataset.Source {
	t.Helper()
	s, err := dataset.Open(t.Context(), o, words{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// take takes up to n conversations.
func take(t testing.TB, s *dataset.Source, n int) []*llm.Conversation {
	t.Helper()
	var list []*llm.Conversation
	for range n {
		c, ok := s.Next()
		if !ok {
			break
		}
		list = append(list, c)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// show is a conversation in short.
func show(list []*llm.Conversation) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "%s", c.ID)
		if c.System != "" {
			fmt.Fprintf(&b, " sys=%q", c.System)
		}
		for _, t := range c.Turns {
			b.WriteString(" [")
			if t.Timed {
				fmt.Fprintf(&b, "@%v ", t.At)
			}
			if t.Delay > 0 {
				fmt.Fprintf(&b, "+%v ", t.Delay)
			}
			if t.Role != "" {
				fmt.Fprintf(&b, "%s: ", t.Role)
			}
			b.WriteString(strings.Join(t.Texts, "|"))
			if t.Query != "" {
				fmt.Fprintf(&b, "q=%s p=%s", t.Query, strings.Join(t.Passages, "|"))
			}
			if t.Messages != nil {
				fmt.Fprintf(&b, " m=%s", t.Messages)
			}
			if t.Raw != nil {
				fmt.Fprintf(&b, "raw=%s", t.Raw)
			}
			if t.MaxTokens > 0 {
				fmt.Fprintf(&b, " max=%d", t.MaxTokens)
			}
			if t.Model != "" {
				fmt.Fprintf(&b, " model=%s", t.Model)
			}
			for k, v := range t.Extra {
				fmt.Fprintf(&b, " %s=%s", k, v)
			}
			for _, m := range t.Media {
				fmt.Fprintf(&b, " %d:%.24s", m.Kind, m.URL)
			}
			b.WriteString("]")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestForms(t *testing.T) {
	f := func(name, text string, format dataset.Format, want string) {
		t.Helper()
		s := open(t, dataset.Options{Path: write(t, name, text), Once: true})
		if got := s.Describe().Format; got != format {
			t.Errorf("%s: read as %s, want %s", text, got, format)
		}
		got := show(take(t, s, 10))
		if want = strings.TrimLeft(want, "\n"); got != want {
			t.Errorf("%s\ngot  %swant %s", text, got, want)
		}
	}
	f("p.jsonl", "{\"input\":\"a\"}\n\n{\"input\":\"b\",\"max_tokens\":7}", dataset.Prompts, "session_000000 [a]\nsession_000001 [b max=7]\n")
	f("p.jsonl", "\ufeff{\"prompt\":[\"a\",\"b\"]}\r\n", dataset.Prompts, "session_000000 [a|b]\n")
	f("p.csv", "id,input,output_length\n1,\"x, y\",5\n2,\"two\nlines\",\n", dataset.CSV, "session_000000 [x, y max=5]\nsession_000001 [two\nlines]\n")
	f("p.txt", "one\n\n two \n", dataset.Text, "session_000000 [one]\nsession_000001 [two]\n")
	f("s.jsonl", `{"text":"a","session_id":"s","timestamp":10.5,"output_length":3,"role":"user"}`+"\n"+`{"texts":["b","c"],"session_id":"s","delay":250}`+"\n"+`{"text":"d","timestamp":2}`,
		dataset.Single, "session_000000 [@2ms d]\ns [@10.5ms user: a max=3] [+250ms b|c]\n")
	f("r.jsonl", `{"texts":[{"name":"query","contents":["q"]},{"name":"passages","contents":["x","y"]}]}`, dataset.Single, "session_000000 [q=q p=x|y]\n")
	f("m.jsonl", `{"session_id":"A","turns":[{"text":"a"},{"text":"b","delay":100,"extra":{"k":1}}]}`, dataset.Multi, "A [a] [+100ms b k=1]\n")
	f("t.jsonl", `{"text_input":"hi","timestamp":0,"output_length":4}`+"\n"+`{"messages":[{"role":"user","content":"yo"}],"timestamp":1}`+"\n"+`{"payload":{"x":1},"timestamp":1.25}`,
		dataset.Mooncake, "session_000000 [@0s hi max=4]\nsession_000001 [@1ms yo m=[{\"role\":\"user\",\"content\":\"yo\"}]]\nsession_000002 [@1.25ms raw={\"x\":1}]\n")
	f("b.jsonl", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, dataset.RawBody, "session_000000 [raw={\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}]\n")
	f("inputs.json", "{\n \"data\": [\n {\"session_id\":\"a\",\"payloads\":[{\"x\":1},{\"x\":2}]}\n ]\n}\n", dataset.Inputs, "a [raw={\"x\":1}] [raw={\"x\":2}]\n")
	f("pa.json", `{"data":[{"payload":[{"x":1}],"timestamp":[5]},{"payload":[{"x":2}],"timestamp":[3]}]}`, dataset.PAInputs, "session_000000 [@3ms raw={\"x\":2}]\nsession_000001 [@5ms raw={\"x\":1}]\n")
	f("pa.json", `{"data":[{"text_input":["hi"],"max_tokens":[256],"stream":[true],"model":"m"},[{"text_input":{"content":["a"],"shape":[1]}},{"text_input":["b"]}]]}`,
		dataset.PAInputs, "session_000000 [hi max=256 model=m stream=true]\nsession_000001 [a] [b]\n")
	f("sg.json", `[{"id":"x","conversations":[{"from":"system","value":"be"},{"from":"human","value":"hi"},{"from":"gpt","value":"ho"},{"from":"human","value":"and?"}]},{"conversations":[{"from":"gpt","value":"only"}]}]`,
		dataset.ShareGPT, "session_000000 sys=\"be\" [hi] [and?]\n")
	f("o.jsonl", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"max_completion_tokens":9}`, dataset.Messages,
		"session_000000 [x m=[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}] max=9]\n")
	f("o.jsonl", `{"custom_id":"c1","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`, dataset.Messages, "c1 [raw={\"model\":\"m\"}]\n")
	f("g.jsonl", `{"type":"payload","text":"x","temperature":0.5,"output_length":3,"delay":4,"session_id":7}`, dataset.GAPayload, "7 [x max=3 temperature=0.5]\n")
}

func TestMadePrompts(t *testing.T) {
	s := open(t, dataset.Options{
		Seed: 3, Input: dataset.Lengths{Mean: 80, Std: 20}, Output: dataset.Fixed(32), Turns: dataset.Lengths{Mean: 3, Std: 1},
		Delay: dataset.Fixed(500), Bust: dataset.FirstTurnPrefix, RunID: "r",
	})
	if s.Len() != -1 || s.Timed() {
		t.Error("made prompts end, or have times")
	}
	var first []string
	for _, c := range take(t, s, 50) {
		for i, turn := range c.Turns {
			if got := (words{}).Count(turn.Texts[0]); got != turn.InputTokens || turn.MaxTokens != 32 {
				t.Errorf("%d tokens, said %d; %d asked", got, turn.InputTokens, turn.MaxTokens)
			}
			if (i > 0) != (turn.Delay == 500*time.Millisecond) {
				t.Errorf("turn %d waits %v", i, turn.Delay)
			}
		}
		first = append(first, c.Turns[0].Texts[0][:14])
	}
	seen := map[string]bool{}
	for _, m := range first {
		if seen[m] || m[0] != '[' {
			t.Errorf("marker %s", m)
		}
		seen[m] = true
	}
	if i := s.Describe(); !i.Exact || i.Inexact > 0 || !strings.HasPrefix(i.Cache.State, "cold") {
		t.Errorf("described as %+v", i)
	}
}

// Conversations that come again say so, whatever the order; with a marker none is the same.
func TestAgain(t *testing.T) {
	path := write(t, "p.txt", "a\nb\nc\n")
	f := func(o dataset.Options, want int) {
		t.Helper()
		o.Path = path
		first := 0
		for _, c := range take(t, open(t, o), 60) {
			if !c.Again {
				first++
			}
		}
		if first != want {
			t.Errorf("%+v: %d conversations were new, want %d", o, first, want)
		}
	}
	f(dataset.Options{}, 3)
	f(dataset.Options{Sampling: dataset.Shuffle}, 3)
	f(dataset.Options{Sampling: dataset.Random}, 3)
	f(dataset.Options{Bust: dataset.FirstTurnPrefix}, 60)
}

// Pauses are scaled, to nothing where that is requested.
func TestDelayRatio(t *testing.T) {
	path := write(t, "m.jsonl", `{"turns":[{"text":"a"},{"text":"b","delay":100}]}`)
	for ratio, want := range map[float64]time.Duration{0: 0, 0.5: 50 * time.Millisecond, 1: 100 * time.Millisecond} {
		if got := take(t, open(t, dataset.Options{Path: path, DelayRatio: &ratio}), 1)[0].Turns[1].Delay; got != want {
			t.Errorf("ratio %g: a pause of %v, want %v", ratio, got, want)
		}
	}
	if got := take(t, open(t, dataset.Options{Path: path, Trace: dataset.Trace{IgnoreDelays: true}}), 1)[0].Turns[1].Delay; got != 0 {
		t.Errorf("a pause of %v is left", got)
	}
}

func TestModelsTakeTurns(t *testing.T) {
	o := dataset.Options{Input: dataset.Fixed(3), Turns: dataset.Fixed(2), Models: []string{"a", "b", "c"}}
	for i, c := range take(t, open(t, o), 7) {
		if want := o.Models[i%3]; c.Turns[0].Model != want || c.Turns[1].Model != want {
			t.Errorf("conversation %d asks %s and %s, want %s", i, c.Turns[0].Model, c.Turns[1].Model, want)
		}
	}
}

// Lengths around a mean reach both ends, and nothing beyond.
func TestAround(t *testing.T) {
	l := dataset.Fixed(10)
	l.Around(0.25)
	seen := map[int]bool{}
	for _, c := range take(t, open(t, dataset.Options{Input: l}), 300) {
		seen[c.Turns[0].InputTokens] = true
	}
	if len(seen) != 7 || !seen[7] || !seen[13] {
		t.Errorf("lengths %v, want 7 to 13", seen)
	}
}

// capture is a line of what an endpoint of SageMaker captures.
func capture(at, encoding, request, answer string) string {
	if encoding == "BASE64" {
		request, answer = base64.StdEncoding.EncodeToString([]byte(request)), base64.StdEncoding.EncodeToString([]byte(answer))
	}
	return fmt.Sprintf(`{"captureData":{"endpointInput":{"observedContentType":"application/json","mode":"INPUT","data":%q,"encoding":%q},`+
		`"endpointOutput":{"mode":"OUTPUT","data":%q,"encoding":%q}},"eventMetadata":{"eventId":"e","inferenceTime":%q},"eventVersion":"0"}`+"\n", request, encoding, answer, encoding, at)
}

// Captured requests are sent again with their messages, in the order of their times, out of all files of a folder.
func TestCapturedRequests(t *testing.T) {
	dir := t.TempDir()
	hour := func(name, text string) {
		path := filepath.Join(dir, "AllTraffic", "2026", name+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	body := func(text, more string) string {
		return `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"` + text + `"}]` + more + `}`
	}
	hour("10", capture("2026-01-31T10:00:01.5Z", "JSON", body("two", `,"max_tokens":7`), `{"usage":{"prompt_tokens":5}}`)+
		capture("2026-01-31T10:00:00Z", "BASE64", body("one", `,"max_completion_tokens":9,"tools":[{"type":"function"}]`), `{"usage":{"prompt_tokens":50}}`))
	hour("11", capture("2026-01-31T11:00:01.25+01:00", "JSON", body("between", ""), "data: {}"))
	f := func(want string, change func(o *dataset.Options)) {
		t.Helper()
		o := dataset.Options{Path: dir, Once: true}
		change(&o)
		s, err := dataset.Open(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var got []string
		for c, ok := s.Next(); ok; c, ok = s.Next() {
			u := &c.Turns[0]
			got = append(got, fmt.Sprintf("%s %v %s %d %t", c.ID, u.At, u.Texts[1], u.MaxTokens, u.Tools != nil))
		}
		if all := strings.Join(got, ", "); all != want || s.Err() != nil {
			t.Errorf("%s, want %s; %v", all, want, s.Err())
		}
	}
	f("session_000000 0s one 9 true, session_000001 1.25s between 0 false, session_000002 1.5s two 7 false", func(*dataset.Options) {})
	f("session_000000 0s one 9 true, session_000001 1.25s between 0 false", func(o *dataset.Options) { o.Entries = 2 })
	f("session_000000 0s between 0 false, session_000001 250ms two 7 false", func(o *dataset.Options) {
		o.Trace.Start, o.Trace.AutoOffset = time.Second, true
	})
	f("session_000000 1.25s between 0 false, session_000001 1.5s two 7 false", func(o *dataset.Options) { o.Trace.MaxInput = 20 })
	f("session_000000 0s one 4 true", func(o *dataset.Options) { o.Trace.End, o.Trace.MaxOutput = time.Second, 4 })
}

// Skip passes over conversations: what follows is what follows after as many calls of Next.
func TestSkip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	var lines strings.Builder
	for i := range 7 {
		fmt.Fprintf(&lines, "{\"text\":\"prompt %d\"}\n", i)
	}
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(o dataset.Options) {
		t.Helper()
		open := func() *dataset.Source {
			s, err := dataset.Open(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		all, some := open(), open()
		defer all.Close()
		defer some.Close()
		for step := range 6 {
			some.Skip(step)
			for range step {
				all.Next()
			}
			want, ok1 := all.Next()
			got, ok2 := some.Next()
			if diff := cmp.Diff(want, got); diff != "" || ok1 != ok2 {
				t.Errorf("%+v: after %d skipped: %v, %v, %s", o, step, ok1, ok2, diff)
			}
		}
	}
	for _, sampling := range []dataset.Sampling{dataset.Sequential, dataset.Shuffle, dataset.Random} {
		f(dataset.Options{Path: path, Sampling: sampling})
		f(dataset.Options{Input: dataset.Fixed(5), Entries: 4, Sampling: sampling, Seed: 3})
		f(dataset.Options{Path: path, Batch: 3, Sampling: sampling})
	}
	f(dataset.Options{Path: path, Once: true})
	f(dataset.Options{Input: dataset.Fixed(5), Turns: dataset.Fixed(2)})
}
