package llm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/tokenizer"
)

// tokens is a tokenizer as the parts of a run need it; nil is none.
type tokens struct{ t *tokenizer.Tokenizer }

// loadTokens reads a tokenizer; none where no path is given. The name of a model, as org/name, is looked up in the folder to which
// Hugging Face's tools download.
func loadTokens(path string, getenv func(string) string) (*tokens, error) {
	if path == "" {
		return nil, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		found := downloaded(path, getenv)
		if found == "" {
			return nil, fmt.Errorf("--tokenizer %s: no such folder or file, and nothing is downloaded: give the folder of the model, or leave out --tokenizer to use the server's token counts", path)
		}
		path = found
	}
	t, err := tokenizer.Load(path)
	if err != nil {
		return nil, err
	}
	return &tokens{t.Whole()}, nil
}

// downloaded is the folder of a model among those that Hugging Face's tools downloaded; empty if it is not there.
func downloaded(name string, getenv func(string) string) string {
	dir := getenv("HF_HUB_CACHE")
	if home := getenv("HF_HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, "hub")
	}
	if home := getenv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".cache", "huggingface", "hub")
	}
	if dir == "" || strings.ContainsAny(name, `*?[\`) {
		return ""
	}
	model := filepath.Join(dir, "models--"+strings.ReplaceAll(name, "/", "--"))
	commit, err := os.ReadFile(filepath.Join(model, "refs", "main"))
	if err != nil {
		return ""
	}
	snapshot := filepath.Join(model, "snapshots", strings.TrimSpace(string(commit)))
	if _, err := os.Stat(snapshot); err != nil {
		return ""
	}
	return snapshot
}

// applyTemplate has prompts counted and made with the chat template of the tokenizer.
func (r *traffic) applyTemplate() error {
	if !r.tok.t.HasTemplate() {
		return fmt.Errorf("--apply-chat-template: %w", tokenizer.ErrNoTemplate)
	}
	r.template = api.NewChatTemplate(r.endpointOptions(), r.tok.t)
	r.data.ChatTokens = func(c *llm.Conversation, turn int, answers []string) (int, error) {
		return r.template.Tokens(&api.Request{Conversation: c, Turn: turn, Answers: answers})
	}
	return nil
}

// counting says which token counts are used.
func (p *Plan) counting() load.Counting {
	switch {
	case p.ServerCounts:
		return load.ServerAlways
	case p.OwnCounts:
		return load.TokenizerFirst
	}
	return load.ServerFirst
}

// rendered counts a prompt as the server should see it; nil where that is not known: there is no tokenizer, or it has no chat template.
func (r *traffic) rendered() func(*api.Request) (int, error) {
	k := api.Kind(r.opts.Kind)
	switch {
	case r.tok == nil || r.template != nil:
		return nil
	case k.TakesText():
		return func(q *api.Request) (int, error) {
			n := 0
			for _, text := range q.Conversation.Turns[q.Turn].Texts {
				n += r.tok.t.Count(text, true)
			}
			return n, nil
		}
	case r.opts.talks() && r.tok.t.HasTemplate():
		template := api.NewChatTemplate(r.endpointOptions(), r.tok.t)
		return func(q *api.Request) (int, error) {
			if len(q.Conversation.Turns[q.Turn].Media) > 0 {
				return -1, nil // an image has tokens too
			}
			return template.Tokens(q)
		}
	}
	return nil
}

// endpointOptions are what the chat template must know of a request.
func (r *traffic) endpointOptions() api.Options {
	return api.Options{Kind: api.Kind(r.opts.Kind), Model: r.opts.model(), Extra: r.opts.Extra}
}

// Encode and Count make it a dataset.Tokenizer.
func (t *tokens) Encode(text string, special bool) []int { return t.t.Encode(text, special) }

// Count counts without special tokens.
func (t *tokens) Count(text string) int { return t.t.Count(text, false) }

// err tells whether a text took more than the tokenizer may take, so that counts are incomplete.
func (t *tokens) err() error {
	if t == nil {
		return nil
	}
	return t.t.Err()
}

// forPrompts is the tokenizer for made prompts.
func (t *tokens) forPrompts() dataset.Tokenizer {
	if t == nil {
		return nil
	}
	return t
}

// count is how texts are counted; nil where there is no tokenizer.
func (t *tokens) count() func(string) int {
	if t == nil {
		return nil
	}
	return t.Count
}

// ids is how texts become token ids; nil where there is no tokenizer.
func (t *tokens) ids() func(string) []int32 {
	if t == nil {
		return nil
	}
	return func(text string) []int32 {
		return convert.All(t.t.Encode(text, true), func(id int) int32 { return int32(id) })
	}
}
