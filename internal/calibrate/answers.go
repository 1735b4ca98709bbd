package calibrate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// Answer is a response as one of the two sides saw it: the request's id, and when its tokens came or left, in Unix
// nanoseconds.
type Answer struct {
	ID string
	At []int64
}

// AnswerLog is the log of the reference server, read as it grows.
type AnswerLog struct {
	Path string
	read int // bytes
}

// logWait is how long the last lines of the log may take.
const logWait = 5 * time.Second

// Next reads the n answers that come next. Answers that were cut short are not waited for.
func (l *AnswerLog) Next(ctx context.Context, n int) ([]Answer, error) {
	var list []Answer
	for deadline := clock.Now() + int64(logWait); ; {
		text, err := os.ReadFile(l.Path)
		if err != nil {
			return nil, err
		}
		whole := text[l.read : bytes.LastIndexByte(text, '\n')+1]
		for line := range bytes.Lines(whole) {
			a, err := parseAnswer(line)
			if err != nil {
				return nil, err
			}
			if len(a.At) > 0 {
				list = append(list, a)
			}
		}
		l.read += len(whole)
		if len(list) >= n || clock.Now() > deadline {
			return list, nil
		}
		if !clock.SleepUntil(ctx, clock.Now()+int64(20*time.Millisecond)) {
			return nil, ctx.Err()
		}
	}
}

// parseAnswer reads a line of the log: when each part with tokens left. Where tokens are not counted each part has one.
func parseAnswer(line []byte) (Answer, error) {
	var doc struct {
		ID     string  `json:"id"`
		Events []int64 `json:"events_ns"`
		Tokens []int   `json:"tokens"`
	}
	if err := json.Unmarshal(line, &doc); err != nil {
		return Answer{}, fmt.Errorf("read the server's log: %w", err)
	}
	a := Answer{ID: doc.ID}
	for i, at := range doc.Events {
		if i >= len(doc.Tokens) || doc.Tokens[i] > 0 {
			a.At = append(a.At, at)
		}
	}
	return a, nil
}

// TokenErrors is what the client's times of tokens minus the server's are.
type TokenErrors struct {
	Errors []int64 // of each token
	Means  Tokens  // of the means
}

// CompareTokens holds what the client saw against what the server wrote.
func CompareTokens(seen, written []Answer) (TokenErrors, error) {
	pairs, err := pairUp(seen, written)
	if err != nil {
		return TokenErrors{}, err
	}
	var out TokenErrors
	var first, gap, gaps float64
	for _, p := range pairs {
		a, b := p[0].At, p[1].At
		for i := range a {
			out.Errors = append(out.Errors, a[i]-b[i])
		}
		first += float64(a[0] - b[0])
		last := len(a) - 1
		gap += float64((a[last] - a[0]) - (b[last] - b[0]))
		gaps += float64(last)
	}
	out.Means.TTFTNs = int64(first / float64(len(pairs)))
	if gaps > 0 {
		out.Means.ITLNs = int64(gap / gaps)
	}
	return out, nil
}

// pairUp finds the two sides of each answer: by the name of the request, or, over gRPC, where it has none of its own, by the
// order of the first tokens, which is that in which they were written.
func pairUp(seen, written []Answer) ([][2]Answer, error) {
	byID := make(map[string]Answer, len(written))
	for _, w := range written {
		byID[w.ID] = w
	}
	var out [][2]Answer
	for _, s := range seen {
		if w, ok := byID[s.ID]; ok && s.ID != "" && len(s.At) > 0 && len(w.At) >= len(s.At) {
			out = append(out, [2]Answer{s, w})
		}
	}
	if len(out) == len(seen) {
		return out, nil
	}
	if len(seen) != len(written) {
		return nil, fmt.Errorf("%d answers came, the server wrote %d: ask for fewer tokens, so that all end in time", len(seen), len(written))
	}
	byFirst := func(a, b Answer) int { return cmp.Compare(a.At[0], b.At[0]) }
	slices.SortFunc(seen, byFirst)
	slices.SortFunc(written, byFirst)
	out = out[:0]
	for i, s := range seen {
		if len(written[i].At) < len(s.At) {
			return nil, errors.New("the answers are not as the server's log has them")
		}
		out = append(out, [2]Answer{s, written[i]})
	}
	return out, nil
}
