package dataset_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
	"github.com/redline-bench/redline/internal/testkit"
)

func TestBrokenFiles(t *testing.T) {
	f := func(name, text string, format dataset.Format, want ...string) {
		t.Helper()
		path := write(t, name, text)
		_, err := dataset.Open(t.Context(), dataset.Options{Path: path, Format: format}, nil)
		if err == nil {
			t.Errorf("%q: no error", text)
			return
		}
		for _, w := range append(want, path) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v\nwants %q", text, err, w)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than a line: %v", text, err)
		}
	}
	f("p.jsonl", "", "", "is empty")
	f("p.jsonl", "\n  \n", "", "has no prompt")
	f("p.jsonl", "{\"input\":\"a\"}\n\n{\"input\":\"b\"\n", "", "line 3:", "not valid JSON")
	f("p.jsonl", "{\"input\":\"a\"}\n{\"other\":\"b\"}\n", "", "line 2:", "input, prompt, text", "found other", "--input-key")
	f("p.jsonl", "{\"input\":\"a\"}\n{\"input\":5}\n", "", "line 2:", "expected a text", "found 5")
	f("p.jsonl", "{\"input\":\"a\"}\n{\"input\":\"\"}\n", "", "line 2:", "found an empty one")
	f("b.csv", "Timestamp,Request tokens,Response tokens\n1,5,6\n2,x,6\n", "", "line 3:", "Request tokens", "burst_gpt_trace")
	f("b.csv", "Timestamp,Request tokens,Response tokens\n1,0,6\n", "", "line 2:", "input_length is 0")
	f("q.jsonl", "{\"chat_id\":1,\"parent_chat_id\":-1,\"input_length\":5}\n", "", "line 1:", "timestamp", "bailian_trace")
	f("s.jsonl", "{\"images\":[\"https://x/a\"],\"image_uuids\":[\"u\",\"v\"]}\n", "", "line 1:", "2 image_uuids do not match 1 images")
	f("c.jsonl", capture("2026-01-31T10:00:00Z", "JSON", `{"prompt":"x"}`, "{}"), "", "line 1:", "has no messages", "sagemaker_data_capture")
	f("c.jsonl", capture("yesterday", "JSON", `{"messages":[]}`, "{}"), "", "line 1:", `inferenceTime is "yesterday"`)
	f("c.jsonl", capture("2026-01-31T10:00:00Z", "JSON", `{"messages":`, "{}"), "", "line 1:", "endpointInput", "not valid JSON")
	f("c.jsonl", strings.ReplaceAll(capture("2026-01-31T10:00:00Z", "JSON", "!", "{}"), "JSON", "BASE64"), "", "line 1:", "not valid base64")
	f("p.jsonl", "plain words\n", "", "line 1", "--custom-dataset-type", "text")
	f("p.jsonl", "{\"strange\":1}\n", "", "line 1", "strange", "--input-key")
	f("p.jsonl", "{\"input\":\"a\"\n", "", "line 1")
	f("s.jsonl", "{\"text\":\"a\"}\n{\"text\":\"b\",\"output_length\":0}\n", "", "line 2:", "output_length is 0", "single_turn")
	f("s.jsonl", "{\"text\":\"a\"}\n{\"text\":7}\n", "", "line 2:", "the field text is a number, expected a string")
	f("s.jsonl", "{\"text\":\"a\"}\n{\"text\":\"a\",\"texts\":[\"b\"]}\n", "", "line 2:", "exclude each other")
	f("s.jsonl", "{\"text\":\"a\"}\n{\"role\":\"user\"}\n", "", "line 2:", "expected one of the fields text")
	f("s.jsonl", "{\"text\":\"a\",\"timestamp\":1}\n{\"text\":\"b\"}\n", "", "line 2:", "no timestamp")
	f("s.jsonl", "{\"text\":\"a\",\"timestamp\":-1}\n", "", "line 1:", "not a valid number of milliseconds")
	f("s.jsonl", "{\"text\":\"a\",\"image\":\"/no/such.png\"}\n", "", "line 1:", "/no/such.png")
	f("m.jsonl", "{\"session_id\":\"a\",\"turns\":[{\"text\":\"x\"}]}\n{\"session_id\":\"a\",\"turns\":[{\"text\":\"y\"}]}\n", "", "line 2:", "twice")
	f("m.jsonl", "{\"turns\":[{\"text\":\"x\"},{}]}\n", "", "line 1:", "turn 2:")
	f("t.jsonl", "{\"input_length\":5}\n{\"input_length\":5,\"text_input\":\"x\"}\n", "", "line 2:", "exactly one of")
	f("t.jsonl", "{\"input_length\":512,\"hash_ids\":[1]}\n{\"input_length\":512,\"hash_ids\":[1,2]}\n", "", "line 2:", "do not fit", "--isl-block-size")
	f("t.jsonl", "{\"input_length\":0}\n", "", "line 1:", "input_length is 0")
	f("t.jsonl", "{\"input_length\":5}\n", dataset.Single, "line 1:", "read as single_turn")
	f("i.json", "{\"data\":[\n{\"session_id\":\"a\",\"payloads\":[{\"x\":1}]},\n{\"session_id\":\"b\",\"payloads\":[]}\n]}", "", "line 3:", "payloads")
	f("i.json", "{\"data\":[\n{\"session_id\":\"a\",\"payloads\":[{\"x\":1}]},\n{\"sess", "", "line 2:", "is not complete")
	f("i.json", "{\"data\":[\n{\"payload\":[{}]}\n]}", "", "line 2:", "empty object")
	f("g.json", "[{\"conversations\":[{\"from\":\"gpt\",\"value\":\"x\"}]}]", "", "has no prompt")
	f("p.csv", "id,other\n1,2\n", "", "line 2:", "found id, other")
	f("r.jsonl", "{\"model\":\"m\",\"messages\":[]}\n[1]\n", "", "line 2:", "JSON object")

	for _, path := range []string{filepath.Join(t.TempDir(), "none.jsonl"), t.TempDir()} {
		if _, err := dataset.Open(t.Context(), dataset.Options{Path: path}, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestTraceTimes(t *testing.T) {
	path := write(t, "t.jsonl", `{"timestamp":1000,"text_input":"a"}
{"timestamp":2000.5,"text_input":"b"}
{"timestamp":3000,"text_input":"c"}
{"timestamp":4000,"text_input":"d"}`)
	f := func(tr dataset.Trace, want string) {
		t.Helper()
		s := open(t, dataset.Options{Path: path, Trace: tr})
		if !s.Timed() && !tr.IgnoreTimes {
			t.Error("no times")
		}
		var got []string
		for _, c := range take(t, s, 4) {
			got = append(got, fmt.Sprint(c.Turns[0].Texts[0], "@", c.Turns[0].At))
		}
		if _, more := s.Next(); more && s.Timed() {
			t.Error("a schedule starts again")
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%+v: got %s, want %s", tr, g, want)
		}
	}
	f(dataset.Trace{}, "a@1s b@2.0005s c@3s d@4s")
	f(dataset.Trace{AutoOffset: true}, "a@0s b@1.0005s c@2s d@3s")
	f(dataset.Trace{AutoOffset: true, Speedup: 2}, "a@0s b@500.25ms c@1s d@1.5s")
	f(dataset.Trace{Start: 2000*time.Millisecond + 500*time.Microsecond, End: 3 * time.Second}, "b@0s c@999.5ms")
	f(dataset.Trace{Start: time.Second, End: time.Second}, "a@0s")
	f(dataset.Trace{IgnoreTimes: true}, "a@0s b@0s c@0s d@0s")
}

func TestHashBlocks(t *testing.T) {
	path := write(t, "t.jsonl", `{"input_length":20,"hash_ids":[1,2],"output_length":900}
{"input_length":15,"hash_ids":[1,3]}
{"input_length":25,"hash_ids":[1,2]}
{"input_length":25,"hash_ids":[1,2]}
{"input_length":7}
{"input_length":15,"hash_ids":[1,2]}
{"input_length":99999,"hash_ids":[9]}`)
	s := open(t, dataset.Options{Path: path, Once: true, Trace: dataset.Trace{Block: 10, MaxInput: 1000, MaxOutput: 500}})
	var texts []string
	for i, c := range take(t, s, 10) {
		turn := c.Turns[0]
		texts = append(texts, turn.Texts[0])
		if got := (words{}).Count(turn.Texts[0]); got != turn.InputTokens {
			t.Errorf("%d: %d tokens, said %d", i, got, turn.InputTokens)
		}
	}
	if len(texts) != 6 {
		t.Fatalf("%d requests", len(texts))
	}
	block := func(text string, n int) string { return strings.Join(strings.Fields(text)[:n], " ") }
	switch {
	case block(texts[0], 10) != block(texts[1], 10):
		t.Error("the same id gave other tokens")
	case block(texts[0], 20) != block(texts[2], 20):
		t.Error("the same ids gave other tokens before a tail")
	case texts[2] == texts[3]:
		t.Error("two tails are the same")
	case !strings.HasPrefix(texts[0], texts[5]):
		t.Error("a block that is cut short is not the start of the whole one")
	case strings.Fields(texts[0])[10] == strings.Fields(texts[1])[10] && strings.Fields(texts[0])[11] == strings.Fields(texts[1])[11] && strings.Fields(texts[0])[12] == strings.Fields(texts[1])[12]:
		t.Error("another id gave the same tokens")
	}
	again := take(t, open(t, dataset.Options{Path: path, Once: true, Trace: dataset.Trace{Block: 10, MaxInput: 1000}}), 1)
	if again[0].Turns[0].Texts[0] != texts[0] || again[0].Turns[0].MaxTokens != 900 {
		t.Error("the same file gives other texts")
	}
}

func TestFolders(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("queries.jsonl", "{\"text\":\"q1\"}\n{\"text\":\"q2\"}\n")
	put("passages.jsonl", "{\"text\":\"p1\"}\n{\"texts\":[\"p2\",\"p3\"]}\n")
	s := open(t, dataset.Options{Path: dir, Entries: 40, Once: true})
	seen := map[string]bool{}
	for _, c := range take(t, s, 100) {
		seen[c.Turns[0].Query+" "+strings.Join(c.Turns[0].Passages, ",")] = true
	}
	if len(seen) != 4 || !seen["q1 p2,p3"] {
		t.Errorf("drawn: %v", seen)
	}

	bodies := t.TempDir()
	dir = bodies
	put("b.jsonl", "{\"messages\":[1]}\n{\"messages\":[2]}\n")
	put("a.jsonl", "{\"messages\":[3]}\n")
	got := show(take(t, open(t, dataset.Options{Path: bodies, Once: true}), 9))
	if got != "a [raw={\"messages\":[3]}]\nb [raw={\"messages\":[1]}] [raw={\"messages\":[2]}]\n" {
		t.Error(got)
	}
}

func TestOrders(t *testing.T) {
	path := write(t, "p.jsonl", "{\"input\":\"a\"}\n{\"input\":\"b\"}\n{\"input\":\"c\"}\n{\"input\":\"d\"}\n")
	texts := func(o dataset.Options, n int) string {
		o.Path = path
		ids := map[string]bool{}
		var b strings.Builder
		for _, c := range take(t, open(t, o), n) {
			if ids[c.ID] {
				t.Errorf("the session %s is there twice", c.ID)
			}
			ids[c.ID] = true
			b.WriteString(c.Turns[0].Texts[0])
		}
		return b.String()
	}
	if got := texts(dataset.Options{}, 10); got != "abcdabcdab" {
		t.Errorf("in order: %s", got)
	}
	if got := texts(dataset.Options{Entries: 3, Once: true}, 10); got != "abc" {
		t.Errorf("the first three: %s", got)
	}
	for seed := range uint64(5) {
		got := texts(dataset.Options{Sampling: dataset.Shuffle, Seed: seed}, 8)
		for _, half := range []string{got[:4], got[4:]} {
			for _, c := range "abcd" {
				if strings.Count(half, string(c)) != 1 {
					t.Errorf("shuffled: %s", got)
				}
			}
		}
		if again := texts(dataset.Options{Sampling: dataset.Shuffle, Seed: seed}, 8); again != got {
			t.Errorf("the same seed: %s, then %s", got, again)
		}
	}
	if got := texts(dataset.Options{Sampling: dataset.Random, Seed: 3}, 50); len(got) != 50 {
		t.Errorf("random: %s", got)
	}
}

func TestHash(t *testing.T) {
	path := write(t, "p.jsonl", "{\"input\":\"a\"}\n")
	other := write(t, "p.jsonl", "{\"input\":\"b\"}\n")
	hash := func(o dataset.Options) string { return open(t, o).Hash() }
	base := hash(dataset.Options{Path: path})
	if copied := hash(dataset.Options{Path: write(t, "q.jsonl", "{\"input\":\"a\"}\n")}); copied != base {
		t.Error("the same contents have another hash")
	}
	for _, o := range []dataset.Options{{Path: other}, {Path: path, Seed: 1}, {Path: path, Sampling: dataset.Shuffle}, {Path: path, Output: dataset.Fixed(3)}} {
		if hash(o) == base {
			t.Errorf("%+v has the same hash", o)
		}
	}
}

// A file that is read in its order takes no memory of its own.
func TestMemoryIsFlat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	const n = 2500
	words := strings.Repeat("word ", 400)
	for i := range n {
		fmt.Fprintf(w, "{\"input\":\"%d %s\"}\n", i, words)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	before := testkit.Heap()
	s := open(t, dataset.Options{Path: path, Once: true})
	if s.Len() != n {
		t.Errorf("%d conversations", s.Len())
	}
	for i := range n {
		if _, ok := s.Next(); !ok {
			t.Fatalf("ended at %d: %v", i, s.Err())
		}
	}
	if grown := int64(testkit.Heap()) - int64(before); grown > 2<<20 { // less than half of the file
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	runtime.KeepAlive(s)
}

// Whatever a file holds, it is read or refused, and what was accepted once is accepted again.
func FuzzRead(f *testing.F) {
	for i, text := range []string{
		`{"input":"a"}`, `{"text":"a","timestamp":3}` + "\n" + `{"text":"b","timestamp":1,"session_id":"x"}`, `{"turns":[{"texts":[{"name":"query","contents":["q"]}]}]}`,
		`{"input_length":5,"hash_ids":[1,2]}`, `{"messages":[{"role":"user","content":[{"text":"x"}]}],"tools":[]}`, `{"data":[{"payload":[{"x":1}],"timestamp":[1]}]}`,
		`{"data":[[{"text_input":{"content":["a"]}}]]}`, `[{"conversations":[{"from":"human","value":"x"}]}]`, "input,timestamp\n\"a\",1\n", "a\nb\n", "\ufeff{\"prompt\":[]}", `{"payload":{"a":1},"delay":3}`,
		`{"data":[{"session_id":"a","payloads":[{"x":1}]}]}`, `{"custom_id":"a","body":{"x":1},"method":"POST"}`,
	} {
		f.Add([]byte(text), uint8(i))
	}
	formats := append(dataset.Formats(), "")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		ext := []string{".jsonl", ".json", ".csv", ".txt"}[n%4]
		path := filepath.Join(dir, "f"+ext)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o := dataset.Options{Path: path, Format: formats[int(n)%len(formats)], Once: true, Sampling: dataset.Sampling(n % 3), Trace: dataset.Trace{MaxInput: 1000}}
		s, err := dataset.Open(context.Background(), o, nil)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		defer s.Close()
		for range min(s.Len(), 50) {
			c, ok := s.Next()
			if !ok {
				t.Fatalf("%d conversations were promised: %v", s.Len(), s.Err())
			}
			if len(c.Turns) == 0 {
				t.Error("a conversation without turns")
			}
			for _, turn := range c.Turns {
				if turn.Raw != nil && !json.Valid(turn.Raw) {
					t.Errorf("a body that is no JSON: %s", turn.Raw)
				}
			}
		}
	})
}

func FuzzPairs(f *testing.F) {
	f.Add("256,128:40;512,256:60")
	f.Add("[(256|10,128|5):40,(512|20,256|10):60]")
	f.Add(`{"pairs":[{"isl":256,"osl":128,"prob":100}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := dataset.Open(t.Context(), dataset.Options{Pairs: text, Input: dataset.Lengths{Mean: 1}}, nil)
		if err != nil || text == "" || len(text) > 60 {
			return
		}
		_ = s.Hash()
	})
}

// A first system message is the system prompt, and no turn.
func TestSystemMessageOfAFile(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got := show(take(t, open(t, dataset.Options{Path: write(t, "a.jsonl", text), Once: true}), 9)); got != want {
			t.Errorf("%s\ngives %s want %s", text, got, want)
		}
	}
	f(`{"session_id":"a","turns":[{"role":"system","text":"be brief"},{"role":"user","text":"one"},{"text":"two"}]}`, "a sys=\"be brief\" [user: one] [two]\n")
	f(`{"session_id":"a","role":"system","text":"be brief"}`+"\n"+`{"session_id":"a","text":"one"}`, "a sys=\"be brief\" [one]\n")
	f(`{"conversations":[{"from":"system","value":"be brief"},{"from":"human","value":"one"}]}`, "session_000000 sys=\"be brief\" [one]\n")
}

// GenAI-Perf's files state the pause after a turn, AIPerf's the pause before it.
func TestDelaysOfSessions(t *testing.T) {
	text := `{"session_id":"a","text_input":"one","delay":1000}` + "\n" + `{"session_id":"a","text_input":"two","delay":2000}` + "\n" + `{"session_id":"a","text_input":"three"}`
	for format, want := range map[dataset.Format]string{
		dataset.GAPayload: "a [one] [+1s two] [+2s three]\n",
		dataset.Mooncake:  "a [+1s one] [+2s two] [three]\n", // the pause before a first turn is not kept
	} {
		if got := show(take(t, open(t, dataset.Options{Path: write(t, "a.jsonl", text), Format: format, Once: true}), 9)); got != want {
			t.Errorf("%s: %s want %s", format, got, want)
		}
	}
}

// Texts of several records go into one request; the last one of the file has the rest.
func TestBatchesOfAFile(t *testing.T) {
	path := write(t, "a.jsonl", `{"text":"one"}`+"\n"+`{"text":"two"}`+"\n"+`{"text":"three"}`)
	s := open(t, dataset.Options{Path: path, Batch: 2, Once: true})
	if got, want := show(take(t, s, 9)), "session_000000 [one|two]\nsession_000002 [three]\n"; got != want || s.Len() != 2 {
		t.Errorf("%d: %s want %s", s.Len(), got, want)
	}
	if got, want := show(take(t, open(t, dataset.Options{Path: path, Batch: 2}), 3)), "session_000000 [one|two]\nsession_000002 [three]\nsession_000000.2 [one|two]\n"; got != want {
		t.Errorf("%s want %s", got, want)
	}
	drawn := show(take(t, open(t, dataset.Options{Path: path, Batch: 2, Sampling: dataset.Shuffle, Once: true}), 9))
	if !strings.Contains(drawn, "[one|two]") || !strings.Contains(drawn, "[three]") {
		t.Error(drawn)
	}
	for _, text := range []string{`{"session_id":"a","turns":[{"text":"one"},{"text":"two"}]}`, `{"text":"one","timestamp":5}`} {
		if _, err := dataset.Open(t.Context(), dataset.Options{Path: write(t, "a.jsonl", text), Batch: 2}, words{}); err == nil || !strings.Contains(err.Error(), "--batch-size-text") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The kinds of media of a file are known before the load.
func TestMediaOfAFile(t *testing.T) {
	i := open(t, dataset.Options{Path: write(t, "a.jsonl", `{"text":"one","image":"http://host/a.png"}`+"\n"+`{"text":"two","audio":"http://host/a.wav"}`)}).Describe()
	if len(i.Media) != 2 || i.Media[0] != llm.Image || i.Media[1] != llm.Audio {
		t.Error(i.Media)
	}
}
