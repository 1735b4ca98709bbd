package estimate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/redline-bench/redline/internal/llm"
)

// Server is a server that can tokenize.
type Server struct {
	Asker
	// Name is what the server calls itself in its list of models: vllm, sglang, llamacpp; or tgi.
	Name, Model string
	// Chat: requests are chats, which the server writes by its chat template. System: they have a system prompt.
	Chat, System bool
}

// message is one message of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Tokenize asks the server's tokenizer for the tokens of generated text, and for those that the server adds to a prompt.
func (s *Server) Tokenize(ctx context.Context) (llm.Estimate, error) {
	few := Text(fewWords, 0)
	base, err := s.count(ctx, few)
	if err != nil {
		return llm.Estimate{}, err
	}
	tokens, all := 0, 0
	for i := range manyTexts {
		text := Text(manyWords, uint64(i)+1)
		n, err := s.count(ctx, text)
		if err != nil {
			return llm.Estimate{}, err
		}
		tokens += n - base
		all += words(text) - words(few)
	}
	e := llm.Estimate{PerWord: float64(tokens) / float64(all), By: "the server's tokenizer"}
	if !possible(e.PerWord) {
		return llm.Estimate{}, ErrUnknown
	}
	if t, err := s.template(ctx, few, base); err == nil { // without it, the input includes the template
		e.Template = t
	}
	return e, nil
}

// count is the number of tokens of a text without special ones.
func (s *Server) count(ctx context.Context, text string) (int, error) {
	return s.tokenize(ctx, map[string]any{"model": s.Model, "prompt": text, "content": text, "inputs": text, "add_special_tokens": false, "add_special": false})
}

// template measures what the server adds to a prompt: text has so many tokens.
func (s *Server) template(ctx context.Context, text string, tokens int) (llm.Template, error) {
	if !s.Chat {
		all, err := s.tokenize(ctx, map[string]any{"model": s.Model, "prompt": text, "content": text, "inputs": text, "add_special_tokens": true, "add_special": true})
		return llm.Template{First: max(0, all-tokens)}, err
	}
	said := message{"user", text}
	alone, err := s.chat(ctx, said)
	if err != nil {
		return llm.Template{}, err
	}
	both, err := s.chat(ctx, said, message{"assistant", text}, said)
	if err != nil {
		return llm.Template{}, err
	}
	t := llm.Template{First: alone - tokens, Later: both - alone - 2*tokens}
	if s.System {
		with, err := s.chat(ctx, message{"system", text}, said)
		if err != nil {
			return llm.Template{}, err
		}
		t.First = with - 2*tokens
	}
	return llm.Template{First: max(0, t.First), Later: max(0, t.Later)}, nil
}

// chat is the number of tokens of a chat as the model sees it.
func (s *Server) chat(ctx context.Context, list ...message) (int, error) {
	if s.Name != llamaCPP {
		return s.tokenize(ctx, map[string]any{"model": s.Model, "messages": list})
	}
	var doc struct {
		Prompt string `json:"prompt"`
	}
	if err := s.ask(ctx, "/apply-template", map[string]any{"messages": list}, &doc); err != nil {
		return 0, err
	}
	return s.tokenize(ctx, map[string]any{"content": doc.Prompt, "add_special": true, "parse_special": true})
}

// Names of servers.
const (
	llamaCPP = "llamacpp"
	TGI      = "tgi"
)

// Tokenizes reports whether a server of this name has an API for tokenizing.
func Tokenizes(name string) bool {
	return name == "vllm" || name == "sglang" || name == llamaCPP || name == TGI
}

// tokenize asks for the number of tokens of a text or chat. vLLM and SGLang send the number; llama.cpp and TGI the tokens.
func (s *Server) tokenize(ctx context.Context, request map[string]any) (int, error) {
	var raw json.RawMessage
	if err := s.ask(ctx, "/tokenize", request, &raw); err != nil {
		return 0, err
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return len(list), nil
	}
	var doc struct {
		Count  int               `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return 0, fmt.Errorf("read the answer of /tokenize: %w", err)
	}
	return max(doc.Count, len(doc.Tokens)), nil
}

// ask sends a request and reads the answer.
func (s *Server) ask(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	status, text, err := s.Ask(ctx, path, body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answers %d", path, status)
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}
