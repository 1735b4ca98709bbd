package llm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/estimate"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/service"
)

// How long a server may take before the run to say what it is, and to count texts.
const (
	identifyLimit = 2 * time.Second
	tokenizeLimit = 10 * time.Second
)

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
	o := r.opts
	s := estimate.Server{
		Asker: at, Name: estimate.TGI, Model: o.model(), Chat: o.talks(), System: r.data.System != "" || r.data.Prefix.SharedSystem > 0,
	}
	if api.Kind(o.Kind) != api.TGI {
		ctx, cancel := context.WithTimeout(r.sigs.Soft, identifyLimit)
		defer cancel()
		id, _ := at.Identify(ctx) // a server that does not say what it is cannot tokenize
		s.Name = id.Name
	}
	if !estimate.Tokenizes(s.Name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.sigs.Soft, tokenizeLimit)
	defer cancel()
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

// learnLengths has the first two conversations of a warm-up begin with a short text and a long one, and reads from the server's counts of
// both how many tokens a word has. The measurement that follows, and all later ones, use the estimate. Parts of a load that several
// processes send would learn from different conversations, so they do not.
func (r *session) learnLengths(cfg *load.Config) {
	if !r.learns() || !cfg.Options.Warmup.Any() {
		return
	}
	l := &lesson{texts: estimate.Texts()}
	r.lesson = l
	open, sample := cfg.Open, cfg.Sample
	cfg.Open = func() (load.Source, error) {
		if e, ok := l.estimate(); ok {
			if err := r.useEstimate(e); err != nil {
				return nil, err
			}
		}
		src, err := open()
		if err == nil && !l.begun {
			l.begun, l.Source = true, src
			return l, nil
		}
		return src, err
	}
	cfg.Sample = func(s *llm.Sample) {
		l.read(s)
		if sample != nil {
			sample(s)
		}
	}
}

// learns reports whether the warm-up of a level is to tell how many tokens a word has.
func (r *session) learns() bool {
	warm := r.opts.Warm.phase(&r.load, load.Level{})
	return r.guesses() && warm.Any() && r.workers.run == nil && r.opts.Segment.Whole() && !r.opts.Data.Rankings.Passages.Set()
}

// learned says once what a warm-up told; empty if it was not to tell anything.
func (r *session) learned() string {
	taught := r.lesson != nil
	r.lesson = nil
	switch {
	case !taught:
		return ""
	case r.data.Estimate.PerWord == 0:
		return "  Prompt lengths: a word counts as one token, because the server's counts of the warm-up requests did not tell more\n"
	}
	return fmt.Sprintf("  Prompt lengths: %.2f tokens a word by %s\n", r.data.Estimate.PerWord, r.data.Estimate.By)
}

// lesson is the prompts of a warm-up; the first two have texts of known lengths.
type lesson struct {
	load.Source
	begun bool
	texts [2]string

	mu     sync.Mutex
	names  [2]string // of the conversations
	given  int
	counts [2]int // by the server; 0 unknown
	system string
}

// Next implements load.Source.
func (l *lesson) Next() (*llm.Conversation, bool) {
	c, ok := l.Source.Next()
	if !ok || l.given == len(l.texts) || c.Turns[0].Raw != nil || c.Turns[0].Messages != nil {
		return c, ok
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	changed := *c
	changed.Turns = slices.Clone(c.Turns)
	changed.Turns[0].Texts = []string{l.texts[l.given]}
	l.names[l.given], l.system = c.ID, c.System
	l.given++
	return &changed, true
}

// read reads the server's count of one of the two texts.
func (l *lesson) read(s *llm.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.names[:], s.Conversation)
	if i >= 0 && s.Warmup && s.Turn == 0 && s.Usage != nil {
		l.counts[i] = s.Usage.Prompt
	}
}

// estimate is what the counts say; ok is false where they say nothing.
func (l *lesson) estimate() (e llm.Estimate, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts[0] <= 0 || l.counts[1] <= 0 {
		return e, false
	}
	e, err := estimate.Fit(l.counts, l.system, "the server's counts of two warm-up requests")
	return e, err == nil
}
