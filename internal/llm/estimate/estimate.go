// Package estimate finds out how many tokens a server counts for generated text, for runs without a tokenizer. Servers that have an API
// for tokenizing are asked; for all others, Fit reads it from the counts of two requests.
package estimate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/dataset/prose"
)

// Asker is a service over HTTP that sends single requests to any path.
type Asker interface {
	Ask(ctx context.Context, path string, body []byte) (status int, answer []byte, err error)
}

// The lengths of the texts that are counted, in words. Most prompts fit the context of a model, and the error of the estimate falls with
// the number of words.
const (
	fewWords  = 16
	manyWords = 400
	manyTexts = 8 // for a server that tokenizes without a model's context
)

// ErrUnknown means that a server's counts say nothing about generated text.
var ErrUnknown = errors.New("the server's counts do not grow with the text")

// Text is generated text of so many words; n makes texts differ.
func Text(words int, n uint64) string {
	text, _ := prose.New(nil).Text(rand.New(rand.NewPCG(0xe57, n)), words, "")
	return text
}

// Texts are the two texts that Fit needs the counts of.
func Texts() [2]string { return [2]string{Text(fewWords, 0), Text(manyWords, 1)} }

// Fit computes the estimate from the server's counts of requests with the two texts behind a system prompt, if there is one:
//
//	count = template + tokens per word · words
func Fit(counts [2]int, system, by string) (llm.Estimate, error) {
	e := llm.Estimate{PerWord: float64(counts[1]-counts[0]) / (manyWords - fewWords), By: by}
	if !possible(e.PerWord) {
		return llm.Estimate{}, ErrUnknown
	}
	e.Template.First = max(0, int(math.Round(float64(counts[0])-e.PerWord*float64(fewWords+words(system)))))
	return e, nil
}

// possible reports whether a word can have so many tokens.
func possible(perWord float64) bool { return perWord >= 0.5 && perWord <= 16 }

// words counts the words of a text.
func words(text string) int { return len(strings.Fields(text)) }
