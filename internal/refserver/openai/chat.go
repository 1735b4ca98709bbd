package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// request has the fields of chat completions and of completions.
type request struct {
	Model     string          `json:"model"`
	Messages  []message       `json:"messages"`
	Prompt    json.RawMessage `json:"prompt"`
	Stream    bool            `json:"stream"`
	MaxTokens *int            `json:"max_tokens"`
	MaxNew    *int            `json:"max_completion_tokens"`
	N         *int            `json:"n"`
	Options   struct {
		Usage      bool `json:"include_usage"`
		Continuous bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	Tools     []tool          `json:"tools"`
	Choice    json.RawMessage `json:"tool_choice"`
	Reasoning string          `json:"reasoning_effort"`
}

type message struct {
	Content json.RawMessage `json:"content"`
}

// tool is a function that the model may call; OpenAI's two interfaces and Anthropic's name it in different places.
type tool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// called returns the tool that the response calls, if the request has tools and does not disable them.
func called(tools []tool, choice json.RawMessage) string {
	if len(tools) == 0 || strings.Trim(string(choice), `"`) == "none" {
		return ""
	}
	return tools[0].Name + tools[0].Function.Name
}

// arguments is what tokens k to k+count-1 of n add to the arguments of a call: together they are a JSON object.
func arguments(k, count, n int) string {
	var b strings.Builder
	for i := k; i < k+count; i++ {
		switch {
		case n == 1:
			return "{}"
		case i == 0:
			b.WriteString(`{"text":"`)
		case i == n-1:
			b.WriteString(token(i) + `"}`)
		default:
			b.WriteString(token(i))
		}
	}
	return b.String()
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, text...)
}

// appendComma appends a comma unless a list begins.
func appendComma(b []byte) []byte {
	if b[len(b)-1] == '[' {
		return b
	}
	return append(b, ',')
}

// answer is one completion that is being sent.
type answer struct {
	x       *exchange
	r       *request
	head    []byte // the start of every event
	buf     []byte
	choices int
	done    int // tokens sent
}

func (h *Handler) newAnswer(x *exchange, r *request, object, prefix string) (*answer, error) {
	if r.Model == "" {
		return nil, bad("you must provide a model parameter")
	}
	a := &answer{x: x, r: r, choices: 1}
	if r.N != nil {
		if a.choices = *r.N; a.choices < 1 || a.choices > 128 {
			return nil, bad("n must be between 1 and 128, got %d", a.choices)
		}
	}
	a.head = append(append(append(append(a.head, `{"id":"`...), prefix...), x.id...), `","object":"`...)
	a.head = append(append(append(a.head, object...), `","created":`...), strconv.FormatInt(x.received.Unix(), 10)...)
	a.head = appendText(append(a.head, `,"model":`...), r.Model)
	a.head = append(a.head, `,"system_fingerprint":"redline","choices":[`...)
	return a, nil
}

// chat answers /v1/chat/completions.
func (h *Handler) chat(x *exchange) error {
	var r request
	if err := x.decode(&r); err != nil {
		return err
	}
	n, err := answerLength(r.MaxTokens, r.MaxNew)
	if err != nil {
		return err
	}
	object := "chat.completion"
	if r.Stream {
		object = "chat.completion.chunk"
	}
	a, err := h.newAnswer(x, &r, object, "chatcmpl-")
	if err != nil {
		return err
	}
	if len(r.Messages) == 0 {
		return bad("[] is too short - 'messages'")
	}
	for _, m := range r.Messages {
		x.prompt += contentWords(m.Content)
	}
	x.reasoning = x.thoughts(n, r.Reasoning != "" && r.Reasoning != "none")
	if r.Stream {
		return x.ended(h.streamChat(a, n))
	}
	if err := h.whole(x, n); err != nil {
		return err
	}
	a.done = n
	a.send(func(b []byte, i int) []byte { return a.message(b, i, n) })
	return nil
}

// message appends a whole choice.
func (a *answer) message(b []byte, index, n int) []byte {
	b = strconv.AppendInt(append(b, `{"index":`...), int64(index), 10)
	b = append(b, `,"message":{"role":"assistant","content":`...)
	finish := "length"
	if name := called(a.r.Tools, a.r.Choice); name != "" {
		b = append(b, `null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":`...)
		b = appendText(b, name)
		b = appendText(append(b, `,"arguments":`...), arguments(0, n, n))
		b = append(b, "}}]"...)
		finish = "tool_calls"
	} else {
		b = appendText(b, text(a.x.reasoning, n-a.x.reasoning))
	}
	if a.x.reasoning > 0 {
		b = appendText(append(b, `,"reasoning_content":`...), text(0, a.x.reasoning))
	}
	return append(append(append(b, `,"refusal":null},"logprobs":null,"finish_reason":"`...), finish...), `"}`...)
}

// send answers with a body that is not a stream.
func (a *answer) send(choice func(b []byte, index int) []byte) {
	b := slices.Clone(a.head)
	for i := range a.choices {
		b = choice(appendComma(b), i)
	}
	writeJSON(a.x, http.StatusOK, json.RawMessage(a.tail(b, true)))
}

// tail appends the end of a body.
func (a *answer) tail(b []byte, usage bool) []byte {
	b = append(b, ']')
	if usage {
		prompt, done := int64(a.x.prompt), int64(a.done*a.choices)
		b = strconv.AppendInt(append(b, `,"usage":{"prompt_tokens":`...), prompt, 10)
		b = strconv.AppendInt(append(b, `,"completion_tokens":`...), done, 10)
		b = strconv.AppendInt(append(b, `,"total_tokens":`...), prompt+done, 10)
		b = strconv.AppendInt(append(b, `,"prompt_tokens_details":{"cached_tokens":`...), int64(a.x.script.Cached), 10)
		b = strconv.AppendInt(append(b, `},"completion_tokens_details":{"reasoning_tokens":`...), int64(min(a.done, a.x.reasoning)*a.choices), 10)
		b = append(b, "}}"...)
	}
	return append(b, '}')
}

// chunk sends an event for one choice: what is inside its delta, or beside it.
func (a *answer) chunk(index int, inside []byte, finish string, tokens int) error {
	a.buf = append(a.buf[:0], a.head...)
	b := append(strconv.AppendInt(append(a.buf, `{"index":`...), int64(index), 10), ',')
	b = append(append(b, inside...), `,"logprobs":null,"finish_reason":`...)
	if finish == "" {
		b = append(b, "null}"...)
	} else {
		b = append(append(append(b, '"'), finish...), `"}`...)
	}
	a.buf = a.tail(b, a.r.Options.Continuous || a.x.script.Usage)
	return a.x.out.Event("", a.buf, tokens)
}

// streamChat sends an event for each token. The first event also has the role, so that it is the first token, unless the script
// sends the role alone.
func (h *Handler) streamChat(a *answer, n int) error {
	name := called(a.r.Tools, a.r.Choice)
	var delta []byte
	err := h.tokens(a.x, n, func(k int, text string, count int) error {
		if k == 0 && a.x.script.Role {
			if err := a.each([]byte(`"delta":{"role":"assistant","content":""}`), "", 0); err != nil {
				return err
			}
		}
		a.done = k + count
		delta = append(delta[:0], `"delta":{`...)
		if k == 0 && !a.x.script.Role {
			delta = append(delta, `"role":"assistant",`...)
		}
		switch {
		case k < a.x.reasoning:
			delta = appendText(append(delta, `"reasoning_content":`...), text)
		case name != "":
			delta = append(delta, `"tool_calls":[{"index":0,`...)
			if k == a.x.reasoning {
				delta = appendText(append(delta, `"id":"call_0","type":"function","function":{"name":`...), name)
				delta = append(delta, `,"arguments":`...)
			} else {
				delta = append(delta, `"function":{"arguments":`...)
			}
			delta = append(appendText(delta, arguments(k-a.x.reasoning, count, n-a.x.reasoning)), "}}]"...)
		default:
			delta = appendText(append(delta, `"content":`...), text)
		}
		delta = append(delta, '}')
		return a.each(delta, "", count)
	})
	if err != nil {
		return err
	}
	if name != "" {
		return a.end(`"delta":{}`, "tool_calls")
	}
	return a.end(`"delta":{}`, "length")
}

// each sends the same event for every choice.
func (a *answer) each(inside []byte, finish string, tokens int) error {
	for i := range a.choices {
		if err := a.chunk(i, inside, finish, tokens); err != nil {
			return err
		}
	}
	return nil
}

// end sends the last event of each choice, the usage where it was requested, and the end of the stream.
func (a *answer) end(inside, finish string) error {
	if err := a.each([]byte(inside), finish, 0); err != nil {
		return err
	}
	if a.r.Options.Usage {
		if err := a.x.out.Event("", a.tail(append(a.buf[:0], a.head...), true), 0); err != nil {
			return err
		}
	}
	return a.x.out.Done()
}
