package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"
)

// open reads the members of a body, which is JSON or a form.
func (p *page) open(body []byte) error {
	if strings.HasPrefix(p.req.Header.Get("Content-Type"), "multipart/") {
		return p.openForm(body)
	}
	if err := json.Unmarshal(body, &p.fields); err != nil {
		return bad("We could not parse the JSON body of your request: %v", err)
	}
	p.get("model", &p.model)
	p.get("stream", &p.stream)
	return p.err
}

// get reads a member if it is there. The page keeps the first error.
func (p *page) get(name string, to any) {
	if raw, ok := p.fields[name]; ok && p.err == nil {
		if err := json.Unmarshal(raw, to); err != nil {
			p.err = bad("We could not parse the JSON body of your request: %s: %v", name, err)
		}
	}
}

// file is one file of a form.
type file struct {
	field, contentType string
	size               int
}

func (p *page) openForm(body []byte) error {
	_, params, err := mime.ParseMediaType(p.req.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return bad("could not parse the Content-Type of your request: %v", err)
	}
	p.fields = map[string]json.RawMessage{}
	for r := multipart.NewReader(bytes.NewReader(body), params["boundary"]); ; {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var data []byte
		if err == nil {
			data, err = io.ReadAll(part)
		}
		switch {
		case err != nil:
			return bad("could not parse the form of your request: %v", err)
		case part.FileName() != "":
			p.files = append(p.files, file{strings.TrimSuffix(part.FormName(), "[]"), part.Header.Get("Content-Type"), len(data)})
		case part.FormName() == "stream":
			p.stream, _ = strconv.ParseBool(string(data)) // no stream if it is neither true nor false
		case part.FormName() == "model":
			p.model = string(data)
		default:
			p.fields[part.FormName()] = json.RawMessage(quote(string(data)))
		}
	}
}

// checkFiles wants files in a field, of a type and not empty.
func (p *page) checkFiles(field, kind string) error {
	found := false
	for _, f := range p.files {
		if f.field == field && (!strings.HasPrefix(f.contentType, kind+"/") || f.size == 0) {
			return bad("the file is %q with %d bytes, not %s", f.contentType, f.size, kind)
		}
		found = found || f.field == field
	}
	if !found {
		return bad("you must provide a file with %s in the field %s", kind, field)
	}
	return nil
}

// length reads the requested length of a response: the last member that is there counts.
func (p *page) length(members ...string) {
	p.n = defaultTokens
	for _, name := range members {
		p.get(name, &p.n)
	}
	if p.err == nil && (p.n < 1 || p.n > maxAnswer) {
		p.err = bad("%s must be at least 1 and at most %d, got %d", members[0], maxAnswer, p.n)
	}
}

// think sets how many of the tokens are reasoning: as the script says, or half of them if they were asked for.
func (p *page) think(asked bool) {
	switch {
	case p.script.Reasoning >= 0:
		p.reasoning = min(p.script.Reasoning, p.n)
	case asked || p.script.Reasoning == -1:
		p.reasoning = p.n / 2
	}
}

// tools reads the function that the response calls: the first, if the request has functions and does not disable them. The interfaces
// have its name in different places.
func (p *page) tools(finish string) {
	var list []struct {
		Name     string
		Function struct{ Name string }
	}
	p.get("tools", &list)
	if len(list) > 0 && string(p.fields["tool_choice"]) != `"none"` {
		p.call, p.finish = list[0].Name+list[0].Function.Name, finish
	}
}

// messages reads the messages of a chat.
func (p *page) messages() {
	var list []any
	if p.get("messages", &list); len(list) == 0 && p.err == nil {
		p.err = bad("messages: at least one message is required")
	}
	p.prompt = words(list)
}

// completion reads what chat completions and completions have in common.
func (p *page) completion() error {
	var options struct {
		Usage      bool `json:"include_usage"`
		Continuous bool `json:"continuous_usage_stats"`
	}
	p.finish = "length"
	p.get("n", &p.choices)
	p.get("stream_options", &options)
	p.usageAsked, p.usageAlways = options.Usage, options.Continuous
	switch {
	case p.err != nil:
		return p.err
	case p.model == "":
		return bad("you must provide a model parameter")
	case p.choices < 1 || p.choices > 128:
		return bad("n must be between 1 and 128, got %d", p.choices)
	}
	return nil
}

func readChat(p *page) error {
	var effort string
	p.length("max_tokens", "max_completion_tokens")
	p.messages()
	p.get("reasoning_effort", &effort)
	p.think(effort != "" && effort != "none")
	err := p.completion()
	p.tools("tool_calls")
	return cmp.Or(err, p.err)
}

func readCompletions(p *page) error {
	p.length("max_tokens")
	p.prompt = words(p.fields["prompt"])
	return p.completion()
}

func readResponses(p *page) error {
	var reasoning struct{ Effort string }
	p.length("max_output_tokens")
	p.prompt = words(p.fields["input"])
	p.get("reasoning", &reasoning)
	p.think(reasoning.Effort != "" && reasoning.Effort != "none")
	p.tools("")
	return p.err
}

func readMessages(p *page) error {
	var thinking struct{ Type string }
	if p.fields["max_tokens"] == nil {
		return bad("max_tokens: Field required")
	}
	p.length("max_tokens")
	p.messages()
	p.prompt += words(p.fields["system"])
	p.get("thinking", &thinking)
	p.think(thinking.Type == "enabled")
	p.finish = "max_tokens"
	p.tools("tool_use")
	return p.err
}
