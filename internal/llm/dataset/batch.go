package dataset

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/redline-bench/redline/internal/llm"
)

// batched joins the texts of several conversations of a file to one request: --batch-size-text. The last request of the file has
// the texts that are left.
type batched struct {
	origin
	n int
}

// newBatched checks that requests can be joined: they have texts alone, and no times.
func newBatched(from origin, n int) (origin, error) {
	var info Info
	from.describe(&info)
	if from.timed() || info.Talks {
		return nil, errors.New("--batch-size-text joins texts of the file to one request: it needs a file without times and without conversations of several turns")
	}
	return &batched{from, n}, nil
}

func (b *batched) size() int { return (b.origin.size() + b.n - 1) / b.n }

func (b *batched) next() (*llm.Conversation, error) { return b.join(b.origin.next) }

func (b *batched) skip() error {
	err := b.origin.skip()
	for k := 1; k < b.n && err == nil; k++ {
		if err = b.origin.skip(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	return err
}

func (b *batched) at(i int) (*llm.Conversation, error) {
	k := i*b.n - 1
	return b.join(func() (*llm.Conversation, error) {
		if k++; k >= b.origin.size() {
			return nil, io.EOF
		}
		return b.origin.at(k)
	})
}

// join joins up to n conversations.
func (b *batched) join(next func() (*llm.Conversation, error)) (*llm.Conversation, error) {
	all, err := next()
	for k := 1; k < b.n && err == nil; k++ {
		var one *llm.Conversation
		if one, err = next(); err == nil {
			err = merge(&all.Turns[0], &one.Turns[0], one.ID)
		}
	}
	if errors.Is(err, io.EOF) && all != nil {
		err = nil
	}
	return all, err
}

// merge adds the texts of a turn to those of another.
func merge(all, t *llm.Turn, id string) error {
	if t.Raw != nil || t.Messages != nil || t.Query != "" || all.Raw != nil || all.Messages != nil || all.Query != "" {
		return fmt.Errorf("--batch-size-text joins texts to one request, but conversation %s is not a text", id)
	}
	all.Texts = append(slices.Clip(all.Texts), t.Texts...)
	all.Media = append(slices.Clip(all.Media), t.Media...)
	all.InputTokens = 0 // must be counted
	return nil
}
