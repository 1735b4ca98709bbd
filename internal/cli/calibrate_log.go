package cli

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

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/clock"
)

// answered is an answer as one of the two sides saw it: when the request was sent, where that is known, and when its tokens
// came or left, by the wall clock.
type answered struct {
	id   string
	sent int64
	at   []int64
}

// answerLog is the log of the reference server, read as it grows.
type answerLog struct {
	path string
	read int // bytes
}

// logWait is how long the last lines of the log may take.
const logWait = 5 * time.Second

// next reads the n answers that come next. Answers that were cut short are not waited for.
func (l *answerLog) next(ctx context.Context, n int) ([]answered, error) {
	var list []answered
	for deadline := clock.Now() + int64(logWait); ; {
		text, err := os.ReadFile(l.path)
		if err != nil {
			return nil, err
		}
		whole := text[l.read : bytes.LastIndexByte(text, '\n')+1]
		for line := range bytes.Lines(whole) {
			a, err := parseAnswer(line)
			if err != nil {
				return nil, err
			}
			if len(a.at) > 0 {
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
func parseAnswer(line []byte) (answered, error) {
	var doc struct {
		ID     string  `json:"id"`
		Events []int64 `json:"events_ns"`
		Tokens []int   `json:"tokens"`
	}
	if err := json.Unmarshal(line, &doc); err != nil {
		return answered{}, fmt.Errorf("read the server's log: %w", err)
	}
	a := answered{id: doc.ID}
	for i, at := range doc.Events {
		if i >= len(doc.Tokens) || doc.Tokens[i] > 0 {
			a.at = append(a.at, at)
		}
	}
	return a, nil
}

// tokenTimes is what the client's times of tokens minus the server's are.
type tokenTimes struct {
	errors []int64          // of each token
	means  calibrate.Tokens // of the means
}

// compareTimes holds what the client saw against what the server wrote.
func compareTimes(seen, written []answered) (tokenTimes, error) {
	pairs, err := pairUp(seen, written)
	if err != nil {
		return tokenTimes{}, err
	}
	var out tokenTimes
	var first, gap, gaps float64
	for _, p := range pairs {
		a, b := p[0].at, p[1].at
		for i := range a {
			out.errors = append(out.errors, a[i]-b[i])
		}
		first += float64(a[0] - b[0])
		last := len(a) - 1
		gap += float64((a[last] - a[0]) - (b[last] - b[0]))
		gaps += float64(last)
	}
	out.means.TTFTNs = int64(first / float64(len(pairs)))
	if gaps > 0 {
		out.means.ITLNs = int64(gap / gaps)
	}
	return out, nil
}

// pairUp finds the two sides of each answer: by the name of the request, or, over gRPC, where it has none of its own, by the
// order of the first tokens, which is that in which they were written.
func pairUp(seen, written []answered) ([][2]answered, error) {
	byID := make(map[string]answered, len(written))
	for _, w := range written {
		byID[w.id] = w
	}
	var out [][2]answered
	for _, s := range seen {
		if w, ok := byID[s.id]; ok && s.id != "" && len(s.at) > 0 && len(w.at) >= len(s.at) {
			out = append(out, [2]answered{s, w})
		}
	}
	if len(out) == len(seen) {
		return out, nil
	}
	if len(seen) != len(written) {
		return nil, fmt.Errorf("%d answers came, the server wrote %d: ask for fewer tokens, so that all end in time", len(seen), len(written))
	}
	byFirst := func(a, b answered) int { return cmp.Compare(a.at[0], b.at[0]) }
	slices.SortFunc(seen, byFirst)
	slices.SortFunc(written, byFirst)
	out = out[:0]
	for i, s := range seen {
		if len(written[i].at) < len(s.at) {
			return nil, errors.New("the answers are not as the server's log has them")
		}
		out = append(out, [2]answered{s, written[i]})
	}
	return out, nil
}
