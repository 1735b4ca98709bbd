package endpoint_test

import (
	"encoding/json"
	"testing"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/tokenizer"
)

func TestChatTemplate(t *testing.T) {
	tok, err := tokenizer.Load(testkit.ChatTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	talk := &endpoint.Request{
		Conversation: &llm.Conversation{System: "be brief", Turns: []llm.Turn{{Texts: []string{"one two"}}, {Texts: []string{"three"}}}},
		Turn:         1, Answers: []string{"four five"},
	}
	const rendered = "system: be brief <end> user: one two <end> assistant: four five <end> user: three <end> assistant:"
	f := func(kind endpoint.Kind, r *endpoint.Request, tokens int, want string) {
		t.Helper()
		o := endpoint.Options{Kind: kind, Model: "m"}
		o.ChatTemplate = endpoint.NewChatTemplate(o, tok)
		if n, err := o.ChatTemplate.Tokens(r); n != tokens || err != nil {
			t.Errorf("%s: %d tokens, %v; want %d", kind, n, err, tokens)
		}
		if got := body(t, o, r); want != "" && got != want {
			t.Errorf("%s: %s, not %s", kind, got, want)
		}
	}
	// <s> of the template counts once: with messages the server puts none around, with a text it does.
	for _, kind := range []endpoint.Kind{endpoint.Chat, endpoint.Responses, endpoint.Messages} {
		f(kind, say("hi there"), 6, "")
		f(kind, talk, 17, "")
	}
	f(endpoint.Completions, say("hi there"), 6, `{"prompt":" user: hi there <end> assistant:","model":"m","stream":false}`)
	f(endpoint.Completions, talk, 17, `{"prompt":" `+rendered+`","model":"m","stream":false}`)
	f(endpoint.Generate, talk, 17, `{"text_input":" `+rendered+`","max_tokens":16,"stream":false}`)
	f(endpoint.TGI, talk, 17, `{"inputs":" `+rendered+`","parameters":{"details":true}}`)
	tools := say("hi")
	tools.Conversation.Turns[0].Tools = json.RawMessage(`[{},{}]`)
	f(endpoint.Chat, tools, 7, "")
	raw := func(text string) *endpoint.Request {
		return &endpoint.Request{Conversation: &llm.Conversation{Turns: []llm.Turn{{Raw: json.RawMessage(text)}}}}
	}
	f(endpoint.Raw, raw(`{"messages":[{"role":"user","content":"a b c"}]}`), 7, "")
	f(endpoint.Raw, raw(`{"prompt":"a b c"}`), -1, "")
	f(endpoint.Completions, raw(`{"prompt":"a b c"}`), -1, `{"prompt":"a b c"}`)
}
