package llm

import (
	"context"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/estimate"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
)

// askLimit is how long a server may take to count texts before the run.
const askLimit = 10 * time.Second

// guesses reports whether the lengths of prompts are guessed: they are generated, and no tokenizer counts them.
func (r *traffic) guesses() bool {
	return r.tok == nil && r.info.Generated && r.data.Estimate.PerWord == 0 && !api.Kind(r.opts.Kind).GRPC()
}

// askLengths asks a server that can tokenize how many tokens a word has. Nothing comes of a server that cannot.
func (r *traffic) askLengths(svc service.Service) error {
	at, ok := svc.(interface {
		estimate.Asker
		service.Lister
	})
	if !ok || !r.guesses() {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.sigs.Soft, askLimit)
	defer cancel()
	o := r.opts
	s := estimate.Server{
		Asker: at, Name: estimate.TGI, Model: o.model(), Chat: o.talks(), System: r.data.System != "" || r.data.Prefix.SharedSystem > 0,
	}
	if api.Kind(o.Kind) != api.TGI {
		id, err := at.Identify(ctx)
		if err != nil {
			return nil
		}
		s.Name = id.Name
	}
	if !estimate.Tokenizes(s.Name) {
		return nil
	}
	e, err := s.Tokenize(ctx)
	if err != nil {
		return nil // the lengths stay a guess, and the report says so
	}
	return r.useEstimate(e)
}

// useEstimate makes prompts by an estimate from now on.
func (r *traffic) useEstimate(e llm.Estimate) error {
	r.data.Estimate = e
	src, err := r.source(0)
	if err != nil {
		return err
	}
	r.info = src.(*dataset.Source).Describe()
	r.hash = r.info.Hash
	if err := src.Close(); err != nil {
		return err
	}
	return r.tryWorkloads()
}

// tryLengths sends two requests before the warm-up, a short one and a long one, and reads from the server's counts how many tokens a word
// has. Only runs with a warm-up may send requests that are not asked for.
func (r *traffic) tryLengths() error {
	warm := r.opts.Warm.phase(&r.load, load.Level{})
	if !r.guesses() || !warm.Any() || r.opts.Data.Rankings.Passages.Set() {
		return nil
	}
	var counts []int
	cfg := r.config(0)
	cfg.Options = load.Options{Requests: len(estimate.Texts()), Timeout: r.load.Timeout, Patience: r.load.Patience, Segment: segment.Segment{}}
	cfg.Tracing = nil
	cfg.Open = func() (load.Source, error) { return newTexts(estimate.Texts()), nil }
	cfg.Sample = func(s *llm.Sample) {
		if s.Usage != nil && s.Usage.Prompt > 0 {
			counts = append(counts, s.Usage.Prompt)
		}
	}
	if _, err := load.Run(r.sigs.Soft, r.sigs.Hard, cfg, load.Level{Mode: plan.Concurrency, Concurrency: 1}); err != nil {
		return err
	}
	if len(counts) != len(estimate.Texts()) {
		return nil // what is wrong with the server shows in the run
	}
	e, err := estimate.Fit([2]int(counts), "the server's counts of two more warm-up requests")
	if err != nil {
		return nil // the lengths stay a guess, and the report says so
	}
	return r.useEstimate(e)
}

// texts is a source of prompts, one after the other.
type texts struct{ list []*llm.Conversation }

func newTexts(list [2]string) *texts {
	t := &texts{}
	for _, text := range list {
		t.list = append(t.list, &llm.Conversation{ID: "length", Turns: []llm.Turn{{Texts: []string{text}, MaxTokens: 1}}})
	}
	return t
}

// Next implements load.Source.
func (t *texts) Next() (*llm.Conversation, bool) {
	if len(t.list) == 0 {
		return nil, false
	}
	c := t.list[0]
	t.list = slices.Delete(t.list, 0, 1)
	return c, true
}

// Err implements load.Source.
func (*texts) Err() error { return nil }

// Close implements load.Source.
func (*texts) Close() error { return nil }
