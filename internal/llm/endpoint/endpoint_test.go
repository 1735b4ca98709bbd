package endpoint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func make1(tb testing.TB, o endpoint.Options) endpoint.Endpoint {
	tb.Helper()
	if o.Model == "" {
		o.Model = "m"
	}
	e, err := endpoint.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func say(texts ...string) *endpoint.Request {
	return &endpoint.Request{Conversation: &llm.Conversation{ID: "c", Turns: []llm.Turn{{Texts: texts}}}}
}

// body is the body that an endpoint makes.
func body(tb testing.TB, o endpoint.Options, r *endpoint.Request) string {
	tb.Helper()
	in, err := make1(tb, o).Inputs(r)
	if err != nil {
		tb.Fatal(err)
	}
	if !json.Valid(in.Tensors[0].Data) {
		tb.Fatalf("no JSON: %s", in.Tensors[0].Data)
	}
	return string(in.Tensors[0].Data)
}

func TestBodies(t *testing.T) {
	f := func(o endpoint.Options, r *endpoint.Request, want string) {
		t.Helper()
		if d := cmp.Diff(want, body(t, o, r)); d != "" {
			t.Errorf("%s: %s", o.Kind, d)
		}
	}
	long := say("hi")
	long.MaxTokens = 9
	f(endpoint.Options{Kind: endpoint.Chat}, say("hi"), `{"messages":[{"role":"user","content":"hi"}],"model":"m","stream":false}`)
	f(endpoint.Options{Kind: endpoint.Chat, Stream: true}, long,
		`{"messages":[{"role":"user","content":"hi"}],"model":"m","stream":true,"max_completion_tokens":9,"stream_options":{"include_usage":true}}`)
	f(endpoint.Options{Kind: endpoint.Chat, Stream: true, NoUsage: true, LegacyMaxTokens: true}, long,
		`{"messages":[{"role":"user","content":"hi"}],"model":"m","stream":true,"max_tokens":9}`)
	f(endpoint.Options{Kind: endpoint.Completions, Stream: true}, long,
		`{"prompt":"hi","model":"m","stream":true,"max_tokens":9,"stream_options":{"include_usage":true}}`)
	f(endpoint.Options{Kind: endpoint.Responses}, long, `{"model":"m","input":"hi","stream":false,"max_output_tokens":9}`)
	f(endpoint.Options{Kind: endpoint.Embeddings}, say("a", "b"), `{"model":"m","input":["a","b"]}`)
	f(endpoint.Options{Kind: endpoint.Messages}, say("hi"), `{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":1024,"stream":false}`)
	rank := &endpoint.Request{Conversation: &llm.Conversation{Turns: []llm.Turn{{Query: "q", Passages: []string{"a", "b"}}}}}
	f(endpoint.Options{Kind: endpoint.CohereRank}, rank, `{"model":"m","query":"q","documents":["a","b"]}`)
	f(endpoint.Options{Kind: endpoint.TEIRank}, rank, `{"query":"q","texts":["a","b"]}`)
	f(endpoint.Options{Kind: endpoint.NIMRank}, rank, `{"model":"m","query":{"text":"q"},"passages":[{"text":"a"},{"text":"b"}]}`)
	f(endpoint.Options{Kind: endpoint.Images}, long, `{"model":"m","prompt":"hi","n":1,"response_format":"b64_json"}`)
	f(endpoint.Options{Kind: endpoint.Images, Stream: true, Extra: map[string]json.RawMessage{"n": json.RawMessage("2")}}, long,
		`{"model":"m","prompt":"hi","response_format":"b64_json","stream":true,"n":2}`)
	f(endpoint.Options{Kind: endpoint.ChatVectors}, long, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	f(endpoint.Options{Kind: endpoint.Completions, ExactOutput: true}, long, `{"prompt":"hi","model":"m","stream":false,"max_tokens":9,"min_tokens":9,"ignore_eos":true}`)
	f(endpoint.Options{Kind: endpoint.Generate, ExactOutput: true}, long, `{"text_input":"hi","max_tokens":9,"min_length":9,"stream":false}`)
	f(endpoint.Options{Kind: endpoint.TGI}, long, `{"inputs":"hi","parameters":{"max_new_tokens":9,"details":true}}`)
	f(endpoint.Options{Kind: endpoint.Generate, Stream: true}, long, `{"text_input":"hi","max_tokens":9,"stream":true}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: `{"q": {{json .Text}}, "n": {{.MaxTokens}}}`}, long, `{"q": "hi", "n": 9}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: `{"q": {{ text|tojson }}, "all": {{ texts|tojson }}, "n": {{ max_tokens|tojson }}, "s": {{ stream|lower }}, "i": {{ image|tojson }}}`, Stream: true}, long,
		`{"q": "hi", "all": ["hi"], "n": 9, "s": true, "i": null}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: `[{% for item in texts %}{"key": [{{ item|tojson }}]}{% if not loop.last %},{% endif %}{% endfor %}]`}, say("a", "b"), `[{"key": ["a"]},{"key": ["b"]}]`)
	f(endpoint.Options{Kind: endpoint.Template, Body: endpoint.NamedTemplates["nv-embedqa"]}, say("a"), `{"text": ["a"]}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: `{"q":{{json .Texts}}}`, Extra: map[string]json.RawMessage{"t": json.RawMessage("0")}}, say("a"), `{"q":["a"],"t":0}`)
}

// The responses of a conversation's turns stand between them; the user's fields stand in place of ours, null takes one
// away; raw bodies go out as they are.
func TestConversationsAndExtras(t *testing.T) {
	conv := &llm.Conversation{System: "be brief", Turns: []llm.Turn{{Texts: []string{"one"}}, {Texts: []string{"two"}, Extra: map[string]json.RawMessage{"seed": json.RawMessage("2")}}}}
	r := &endpoint.Request{Conversation: conv, Turn: 1, Answers: []string{`so "be" it`}}
	o := endpoint.Options{Kind: endpoint.Chat, Stream: true, Extra: map[string]json.RawMessage{
		"temperature": json.RawMessage("0"), "stream_options": json.RawMessage("null"), "model": json.RawMessage(`"other"`), "seed": json.RawMessage("1"),
	}}
	want := `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"one"},` +
		`{"role":"assistant","content":"so \"be\" it"},{"role":"user","content":"two"}],"stream":true,"model":"other","temperature":0,"seed":2}`
	if d := cmp.Diff(want, body(t, o, r)); d != "" {
		t.Error(d)
	}
	raw := &endpoint.Request{Conversation: &llm.Conversation{Turns: []llm.Turn{{Raw: json.RawMessage(`{"a":1}`)}}}}
	for _, k := range []endpoint.Kind{endpoint.Chat, endpoint.Raw, endpoint.Messages} {
		if got := body(t, endpoint.Options{Kind: k, Stream: true}, raw); got != `{"a":1}` {
			t.Errorf("%s: %s", k, got)
		}
	}
}

func TestMedia(t *testing.T) {
	conv := &llm.Conversation{Turns: []llm.Turn{{Texts: []string{"look"}, Media: []llm.Media{
		{Kind: llm.Image, URL: "data:image/png;base64,AA"}, {Kind: llm.Audio, URL: "data:audio/wav;base64,BB"}, {Kind: llm.Video, URL: "http://x/v.mp4"},
	}}}}
	r := &endpoint.Request{Conversation: conv}
	want := `{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}},` +
		`{"type":"input_audio","input_audio":{"data":"BB","format":"wav"}},{"type":"video_url","video_url":{"url":"http://x/v.mp4"}}]}],"model":"m","stream":false}`
	if d := cmp.Diff(want, body(t, endpoint.Options{Kind: endpoint.Chat}, r)); d != "" {
		t.Error(d)
	}
	conv.Turns[0].Media = conv.Turns[0].Media[:1]
	want = `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}},` +
		`{"type":"text","text":"look"}]}],"max_tokens":1024,"stream":false}`
	if d := cmp.Diff(want, body(t, endpoint.Options{Kind: endpoint.Messages}, r)); d != "" {
		t.Error(d)
	}
	want = `{"inputs":"![](data:image/png;base64,AA) look","parameters":{"details":true}}`
	if d := cmp.Diff(want, body(t, endpoint.Options{Kind: endpoint.TGI}, r)); d != "" {
		t.Error(d)
	}
}

// What an API cannot send is an error.
func TestMediaThatCannotBeSent(t *testing.T) {
	for _, k := range endpoint.Kinds() {
		kind := endpoint.Kind(k)
		if kind.GRPC() || kind == endpoint.Raw || kind.Form() { // forms send no addresses: TestFormsWithoutFiles
			continue
		}
		for _, m := range []llm.MediaKind{llm.Image, llm.Audio, llm.Video} {
			turn := llm.Turn{Texts: []string{"look"}, Query: "q", Passages: []string{"p"}, Media: []llm.Media{{Kind: m, URL: "http://host/part"}}}
			in, err := make1(t, endpoint.Options{Kind: kind, Body: `{"a": {{ (images + audios + videos)|tojson }}}`}).Inputs(&endpoint.Request{Conversation: &llm.Conversation{Turns: []llm.Turn{turn}}})
			switch {
			case kind.Carries(m) != (err == nil):
				t.Errorf("%s with %s: %v", k, m, err)
			case err == nil && !strings.Contains(string(in.Tensors[0].Data), "http://host/part"):
				t.Errorf("%s leaves out %s: %s", k, m, in.Tensors[0].Data)
			}
		}
	}
}

// answer is what a test expects of a response.
type answer struct {
	Text, Thought, Calls string
	Kinds                string // of the chunks: a answer, t thought, c call, o other
	Tokens               []int32
	Usage                *llm.Usage
	Err                  string
}

func none() llm.Usage {
	return llm.Usage{Prompt: -1, Completion: -1, Total: -1, Reasoning: -1, Cached: -1}
}

func read(tb testing.TB, e endpoint.Endpoint, pieces ...string) answer {
	tb.Helper()
	var events []record.Event
	for i, p := range pieces {
		events = append(events, record.Event{At: int64(i + 1), Size: uint32(len(p))})
	}
	var a endpoint.Answer
	got := answer{}
	if err := endpoint.Read(e, &a, events, []byte(strings.Join(pieces, ""))); err != nil {
		got.Err = err.Error()
		return got
	}
	got.Text, got.Thought, got.Calls = string(a.Text), string(a.Thought), string(a.Calls)
	for _, c := range a.Chunks {
		got.Kinds += string("atco"[c.Kind])
		if c.Tokens != 0 {
			got.Tokens = append(got.Tokens, c.Tokens)
		}
	}
	if a.Counted {
		u := a.Usage
		got.Usage = &u
	}
	return got
}

// ev makes events of a stream.
func ev(data ...string) []string {
	for i := range data {
		data[i] = "data: " + data[i] + "\n\n"
	}
	return data
}

func TestChatStreams(t *testing.T) {
	f := func(want answer, pieces ...string) {
		t.Helper()
		if d := cmp.Diff(want, read(t, make1(t, endpoint.Options{Kind: endpoint.Chat, Stream: true}), pieces...)); d != "" {
			t.Error(d)
		}
	}
	role := `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	tok := func(s string) string {
		q, _ := json.Marshal(s)
		return `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":` + string(q) + `},"logprobs":null,"finish_reason":null}]}`
	}
	think := func(s string) string { return `{"choices":[{"delta":{"reasoning_content":"` + s + `"}}]}` }
	stop := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`
	u := none()
	u.Prompt, u.Completion, u.Total, u.Cached, u.Reasoning = 7, 2, 9, 3, 1
	usage := `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":1}}}`
	f(answer{Text: "a\"b\n é", Kinds: "aa"}, ev(role, tok("a\"b\n"), tok(" é"), stop, "[DONE]")...)
	f(answer{Text: "hi", Kinds: "a", Usage: &u}, ev(role, tok("hi"), stop, usage, "[DONE]")...)
	f(answer{Text: "hi", Thought: "hmm", Kinds: "tta"}, ev(role, think("h"), think("mm"), tok("hi"), stop, "[DONE]")...)
	f(answer{Calls: `get{"a":1}`, Kinds: "cc"}, ev(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"get","arguments":""}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}`, "[DONE]")...)
	// A finish reason does for [DONE]; nothing of the two is a stream that broke off.
	f(answer{Text: "hi", Kinds: "a"}, ev(tok("hi"), stop)...)
	f(answer{Err: "the stream broke off: neither [DONE] nor a finish_reason came"}, ev(tok("hi"))...)
	f(answer{Err: "the stream ended without any content"}, ev(role, stop, "[DONE]")...)
	f(answer{Err: "the stream ended without any content"}, ev("[DONE]")...)
	f(answer{Err: `the server reports an error: {"message":"out of memory"}`}, ev(tok("hi"), `{"error":{"message":"out of memory"}}`)...)
	f(answer{Err: "this is not a response of OpenAI's API: hello"}, ev("hello")...)
	f(answer{Err: `this is not a response of OpenAI's API: {"choices":[{"delta":{"content":"a"}}]`}, ev(`{"choices":[{"delta":{"content":"a"}}]`)...)
	f(answer{Err: `this is not a response of OpenAI's API: {"type":"message_start"}`}, ev(`{"type":"message_start"}`)...)
	f(answer{Err: `a stream was requested, but the response is a single body: {"choices":[{"message":{"content":"hi"}}]}`}, `{"choices":[{"message":{"content":"hi"}}]}`)
	// Counts in every chunk say how many tokens each has.
	count := func(s string, n string) string {
		return `{"choices":[{"delta":{"content":"` + s + `"}}],"usage":{"prompt_tokens":5,"completion_tokens":` + n + `}}`
	}
	v := none()
	v.Prompt, v.Completion = 5, 6
	f(answer{Text: "abc", Kinds: "aaa", Tokens: []int32{1, 3, 2}, Usage: &v}, ev(count("a", "1"), count("b", "4"), count("c", "6"), stop, "[DONE]")...)
	// Parts, several data lines, other line ends, event names.
	f(answer{Text: "hi", Thought: "x", Kinds: "ta"}, ev(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"x"}]}]}}]}`,
		`{"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]},"finish_reason":"stop"}]}`)...)
	f(answer{Text: "hi", Kinds: "a"}, "event: message\nid: 4\nunknown: field\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n", "data:[DONE]\n\n")
}

func TestBodiesOfAnswers(t *testing.T) {
	f := func(o endpoint.Options, want answer, pieces ...string) {
		t.Helper()
		if d := cmp.Diff(want, read(t, make1(t, o), pieces...)); d != "" {
			t.Errorf("%s: %s", o.Kind, d)
		}
	}
	u := none()
	u.Prompt, u.Completion, u.Total = 3, 2, 5
	f(endpoint.Options{Kind: endpoint.Chat}, answer{Text: "hi", Thought: "hm", Kinds: "a", Usage: &u},
		`{"object":"chat.completion","choices":[{"message":{"role":"assistant","reasoning_content":"hm","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`)
	f(endpoint.Options{Kind: endpoint.Chat}, answer{Err: "the response has no content; expected that of a completion"}, `{"object":"chat.completion","choices":[]}`)
	f(endpoint.Options{Kind: endpoint.Completions}, answer{Text: "hi", Kinds: "a"}, `{"choices":[{"text":"hi","finish_reason":"length"}]}`)
	f(endpoint.Options{Kind: endpoint.Completions, Stream: true}, answer{Text: "hi", Kinds: "aa"}, ev(`{"choices":[{"text":"h"}]}`, `{"choices":[{"text":"i","finish_reason":"length"}]}`, "[DONE]")...)

	c := none()
	c.Prompt, c.Completion, c.Total, c.Reasoning, c.Cached = 4, 6, 10, 1, 2
	f(endpoint.Options{Kind: endpoint.Responses, Stream: true}, answer{Text: "hi", Thought: "hm", Kinds: "taa", Usage: &c}, ev(`{"type":"response.created","response":{"status":"in_progress","usage":null}}`,
		`{"type":"response.reasoning_text.delta","delta":"hm"}`, `{"type":"response.output_text.delta","delta":"h"}`, `{"delta":"i","type":"response.output_text.delta"}`,
		`{"type":"response.output_text.done","text":"hi"}`,
		`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":4,"output_tokens":6,"total_tokens":10,"input_tokens_details":{"cached_tokens":2},"output_tokens_details":{"reasoning_tokens":1}}}}`)...)
	f(endpoint.Options{Kind: endpoint.Responses, Stream: true}, answer{Err: "the stream broke off: no response.completed came"}, ev(`{"type":"response.output_text.delta","delta":"h"}`)...)
	f(endpoint.Options{Kind: endpoint.Responses}, answer{Text: "hi", Thought: "hm", Kinds: "a"},
		`{"status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`)

	an := none()
	an.Prompt, an.Completion, an.Cached = 15, 4, 5
	f(endpoint.Options{Kind: endpoint.Messages, Stream: true}, answer{Text: "hi", Thought: "hm", Kinds: "ta", Usage: &an},
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n",
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	f(endpoint.Options{Kind: endpoint.Messages}, answer{Text: "hi", Kinds: "a"}, `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}`)

	f(endpoint.Options{Kind: endpoint.Embeddings}, answer{Kinds: "o"}, `{"data":[{"embedding":[0.1,0.2],"index":0}]}`)
	f(endpoint.Options{Kind: endpoint.Embeddings}, answer{Err: `the response has no embedding: {"data":[]}`}, `{"data":[]}`)
	f(endpoint.Options{Kind: endpoint.CohereRank}, answer{Kinds: "o"}, `{"results":[{"index":0,"relevance_score":0.1}]}`)
	f(endpoint.Options{Kind: endpoint.TEIRank}, answer{Kinds: "o"}, `[{"index":0,"score":0.1}]`)
	f(endpoint.Options{Kind: endpoint.TEIRank}, answer{Err: `the response has no ranking: []`}, `[]`)
	f(endpoint.Options{Kind: endpoint.ChatVectors}, answer{Kinds: "o"}, `{"data":[{"embedding":[0.1,0.2],"index":0}]}`)
	f(endpoint.Options{Kind: endpoint.Images}, answer{Kinds: "o"}, `{"created":1,"data":[{"b64_json":"AAAA"}]}`)
	f(endpoint.Options{Kind: endpoint.ImageEdit}, answer{Kinds: "o"}, `{"created":1,"data":[{"b64_json":"AAAA"}]}`)
	f(endpoint.Options{Kind: endpoint.Transcription}, answer{Kinds: "a", Text: "so it goes"}, `{"text":"so it goes"}`)
	f(endpoint.Options{Kind: endpoint.Transcription}, answer{Kinds: "a", Text: "so it goes"}, "so it goes\n")
	f(endpoint.Options{Kind: endpoint.Transcription}, answer{Err: "the response has no content; expected that of a transcription"}, `{"text":""}`)
	f(endpoint.Options{Kind: endpoint.Transcription, Stream: true}, answer{Kinds: "aa", Text: "so it"}, ev(`{"type":"transcript.text.delta","delta":"so"}`, `{"type":"transcript.text.delta","delta":" it"}`, `{"type":"transcript.text.done","text":"so it"}`)...)
	f(endpoint.Options{Kind: endpoint.Transcription, Stream: true}, answer{Kinds: "aa", Text: "so it"}, ev(`{"object":"transcription.chunk","choices":[{"delta":{"content":"so"}}]}`, `{"choices":[{"delta":{"content":" it"},"finish_reason":"stop"}]}`, `[DONE]`)...)
	f(endpoint.Options{Kind: endpoint.Transcription, Stream: true}, answer{Err: "the stream broke off: its last event is missing"}, ev(`{"type":"transcript.text.delta","delta":"so"}`)...)
	f(endpoint.Options{Kind: endpoint.Images}, answer{Kinds: "o"}, `{"created":1,"data":[{"b64_json":null,"url":"http://host/a.png"}]}`)
	f(endpoint.Options{Kind: endpoint.Images}, answer{Err: "the response has no content; expected that of an image"}, `{"created":1,"data":[]}`)
	f(endpoint.Options{Kind: endpoint.Images, Stream: true}, answer{Kinds: "oo"}, ev(`{"type":"image_generation.partial_image","b64_json":"AAAA"}`, `{"type":"image_generation.completed","b64_json":"AAAA"}`)...)
	f(endpoint.Options{Kind: endpoint.Images, Stream: true}, answer{Err: "the stream broke off: its last image is a partial one"}, ev(`{"type":"image_generation.partial_image","b64_json":"AAAA"}`)...)
	f(endpoint.Options{Kind: endpoint.NIMRank}, answer{Kinds: "o"}, `{"rankings":[{"index":0,"logit":0.1}]}`)

	g := none()
	g.Completion, g.Prompt = 2, 1
	f(endpoint.Options{Kind: endpoint.TGI, Stream: true}, answer{Text: "hi", Kinds: "aa", Tokens: []int32{1, 1}, Usage: &g}, ev(`{"index":1,"token":{"id":1,"text":"h","special":false},"generated_text":null,"details":null}`,
		`{"token":{"text":"i"},"generated_text":null}`, `{"token":{"text":"</s>","special":true},"generated_text":"hi","details":{"finish_reason":"eos_token","generated_tokens":2,"input_length":1}}`)...)
	f(endpoint.Options{Kind: endpoint.TGI}, answer{Text: "hi", Kinds: "a"}, `{"generated_text":"hi"}`)
	f(endpoint.Options{Kind: endpoint.Generate, Stream: true}, answer{Text: "hi", Kinds: "aa"}, ev(`{"model_name":"m","text_output":"h"}`, `{"model_name":"m","text_output":"i"}`, `{"model_name":"m","text_output":""}`)...)
	f(endpoint.Options{Kind: endpoint.Generate}, answer{Text: "hi", Kinds: "a"}, `{"model_name":"m","model_version":"1","text_output":"hi"}`)

	tp := none()
	tp.Prompt, tp.Completion = 3, 4
	f(endpoint.Options{Kind: endpoint.Template, Body: "{}", ResponsePath: "out[0].say", PromptPath: "n.in", CompletionsPath: "n.out"}, answer{Text: "hi", Kinds: "a", Usage: &tp},
		`{"out":[{"say":"hi"}],"n":{"in":3,"out":4}}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: "{}", ResponsePath: "nowhere"}, answer{Err: "the response has no content; expected that of the template"}, `{"a":1}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: "{}"}, answer{Text: "hi", Kinds: "a"}, `{"model":"m","generated_text":"hi"}`)
	f(endpoint.Options{Kind: endpoint.Template, Body: "{}"}, answer{Kinds: "o"}, `{"embedding":[0.1]}`)
	f(endpoint.Options{Kind: endpoint.Raw}, answer{Text: "hi", Kinds: "a"}, ev(`{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`)...)
	f(endpoint.Options{Kind: endpoint.Raw}, answer{Text: "hi", Kinds: "a"}, `{"model_name":"m","text_output":"hi"}`)
}

func TestKServeInputsFollowTheModel(t *testing.T) {
	model := &service.Model{
		Name: "ensemble", MaxBatch: 4, Decoupled: true,
		Inputs: []service.TensorSpec{
			{Name: "text_input", Type: tensor.Bytes, Shape: tensor.Shape{1}},
			{Name: "max_tokens", Type: tensor.Int32, Shape: tensor.Shape{1}},
			{Name: "stream", Type: tensor.Bool, Shape: tensor.Shape{1}, Optional: true},
			{Name: "bad_words", Type: tensor.Bytes, Shape: tensor.Shape{1}},
			{Name: "temperature", Type: tensor.FP32, Shape: tensor.Shape{1}, Optional: true},
			{Name: "top_k", Type: tensor.Int32, Shape: tensor.Shape{1}, Optional: true},
		},
		Outputs: []service.TensorSpec{{Name: "text_output", Type: tensor.Bytes, Shape: tensor.Shape{-1}}},
	}
	e := make1(t, endpoint.Options{Kind: endpoint.KServeText, Metadata: model, Stream: true, Extra: map[string]json.RawMessage{"temperature": json.RawMessage("0.5")}})
	r := say("hi")
	r.MaxTokens = 7
	in, err := e.Inputs(r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range in.Tensors {
		got[x.Name] = x.Shape.String() + string(x.Data)
	}
	want := map[string]string{
		"text_input": "[1,1]\x02\x00\x00\x00hi", "max_tokens": "[1,1]\x07\x00\x00\x00", "stream": "[1,1]\x01", "bad_words": "[1,1]\x00\x00\x00\x00",
		"temperature": "[1,1]\x00\x00\x00\x3f",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wrong := endpoint.Options{Kind: endpoint.KServeText, Metadata: model, Extra: map[string]json.RawMessage{"nope": json.RawMessage("1")}}
	if _, err := endpoint.New(wrong); err == nil || !strings.Contains(err.Error(), "has no input nope; its inputs are text_input") {
		t.Error(err)
	}
	if _, err := endpoint.New(endpoint.Options{Kind: endpoint.KServeText, Metadata: model, ExactOutput: true}); err == nil || !strings.Contains(err.Error(), "min_length") {
		t.Error(err)
	}
	if _, err := endpoint.New(endpoint.Options{Kind: endpoint.KServeTokens, Metadata: model}); err == nil || !strings.Contains(err.Error(), "tokenizer") {
		t.Error(err)
	}
	if _, err := endpoint.New(endpoint.Options{Kind: endpoint.KServeTokens, Metadata: model, Encode: func(string) []int32 { return nil }}); err == nil || !strings.Contains(err.Error(), "input_ids") {
		t.Error(err)
	}
}

// A template that makes no JSON, or does not parse, is known before anything is sent.
func TestBadTemplates(t *testing.T) {
	for _, text := range []string{"", "{{", `{"a": {{.Text}}}`, `{"a": {{.Nope}}}`, `{"a": {{ text }}}`, `{"a": {{ text|nope }}}`, `{% if %}`} {
		if _, err := endpoint.New(endpoint.Options{Kind: endpoint.Template, Body: text}); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}

// A path that is a query of JMESPath is known before anything is sent.
func TestBadResponseField(t *testing.T) {
	for _, path := range []string{"data[].embedding", "data[*].a", "a | b", "a..b"} {
		if _, err := endpoint.New(endpoint.Options{Kind: endpoint.Template, Body: "{}", ResponsePath: path}); err == nil || !strings.Contains(err.Error(), "--response-field is a path") {
			t.Errorf("%q: %v", path, err)
		}
	}
}
