package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
)

// Endpoint is one API of a language model server.
type Endpoint struct {
	Type    string `json:"type"` // of --endpoint-type
	Path    string `json:"path"`
	Status  int    `json:"status"` // of the response to a request without a prompt
	Answers bool   `json:"answers"`
}

// probed are the APIs that are tried, the usual ones first.
var probed = []endpoint.Kind{
	endpoint.Chat, endpoint.Completions, endpoint.Responses, endpoint.Messages, endpoint.Embeddings,
	endpoint.CohereRank, endpoint.TEIRank, endpoint.NIMRank, endpoint.TGI,
}

// texts are the probed APIs that take a prompt and stream the response.
var texts = []endpoint.Kind{endpoint.Chat, endpoint.Completions, endpoint.Responses, endpoint.Messages, endpoint.TGI}

// outputLimit is the output length that the printed command requests: without one, a model without an end of its own writes until its
// context is full.
const outputLimit = "128"

// prompts is an input file for these APIs.
const prompts = `{"text": "Why is the sky blue?"}
{"text": "Explain in three sentences how a heat pump works."}
{"text": "Write a short poem about a river."}
{"text": "List five facts about the moon."}
`

// asker is a service that sends single requests to any path.
type asker interface {
	Ask(ctx context.Context, path string, body []byte) (status int, answer []byte, err error)
}

// describeAPI finds the endpoints that respond, and makes the command line for the model, or for the first model.
func (r *Report) describeAPI(ctx context.Context, q *Question, t plan.Target, svc service.Service) error {
	model := t.Model
	if model == "" && len(r.Models) > 0 {
		model = r.Models[0].Name
	}
	if t.Model != "" && !slices.ContainsFunc(r.Models, func(m service.ListedModel) bool { return m.Name == t.Model }) {
		return fmt.Errorf("%s does not list the model %q%s", r.URL, t.Model, hint(r.Models, t.Model, ""))
	}
	a, ok := svc.(asker)
	if !ok {
		return nil
	}
	// A server that has the API refuses a request without a prompt, or generates a single token.
	body, err := json.Marshal(map[string]any{"model": model, "max_tokens": 1})
	if err != nil {
		return err
	}
	for _, kind := range probed {
		ep, err := endpoint.New(endpoint.Options{Kind: kind, Model: model})
		if err != nil {
			return err
		}
		e := Endpoint{Type: string(kind), Path: "/" + ep.Path()}
		if err := e.probe(ctx, q.Timeout, a, body); err != nil {
			return err
		}
		r.Endpoints = append(r.Endpoints, e)
	}
	r.llmCommand(q, t, model)
	return nil
}

func (e *Endpoint) probe(ctx context.Context, timeout time.Duration, a asker, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	status, answer, err := a.Ask(ctx, e.Path, body)
	if err != nil {
		return fmt.Errorf("ask %s: %w", e.Path, err)
	}
	e.Status = status
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
	default: // a server that has the API but no model for it says so
		e.Answers = !bytes.Contains(answer, []byte("does not support"))
	}
	return nil
}

// llmCommand makes the command line for the first endpoint that responds.
func (r *Report) llmCommand(q *Question, t plan.Target, model string) {
	i := slices.IndexFunc(r.Endpoints, func(e Endpoint) bool { return e.Answers })
	if i < 0 || model == "" {
		return
	}
	kind := endpoint.Kind(r.Endpoints[i].Type)
	w := words{"redline", "llm"}
	w.add("-m", model)
	w.server(t)
	w.add("--endpoint-type", string(kind))
	if slices.Contains(texts, kind) {
		r.Input = []byte(prompts)
		w.add("--streaming", "--osl", outputLimit)
		if q.InputFile != "" {
			w.add("--input-file", q.InputFile)
		}
	}
	if q.KeyVariable != "" {
		w.add("--api-key-env", q.KeyVariable)
		t.Headers = slices.DeleteFunc(slices.Clone(t.Headers), func(h plan.Header) bool { return strings.EqualFold(h.Name, "authorization") })
	}
	w.headers(t)
	if t.TLS.CAFile != "" {
		w.add("--ca-file", t.TLS.CAFile)
	}
	if t.TLS.SkipVerifyPeer {
		w.add("--insecure")
	}
	w.add("--concurrency", "1,8")
	r.Command = strings.Join(w, " ")
}
