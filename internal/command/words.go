package command

import (
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/result"
)

// Words are the words of the files that commands write: states, modes, kinds, metrics and units. See secret.Set.
func Words() []string {
	words := append(result.Words(), "profile", "simple", "stress", "history")
	for _, m := range metric.Sample(metric.Options{Goodput: make([]metric.Objective, 1)}, true) {
		words = append(words, m.Tag, m.Unit)
	}
	return words
}
