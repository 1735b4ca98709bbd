package calibrate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/redline-bench/redline/internal/stats"
)

// Exchange is one request as one side saw it, by the wall clock in nanoseconds: the client from send to end, the server
// from the whole request to the last write of the answer.
type Exchange struct {
	ID       uint64
	From, To int64
}

// Errors are the client's latencies minus the server's times of the same requests. Requests are paired by id, or, where
// they have none, by the order in which they ended. Requests that the server did not log are left out.
func Errors(client, server []Exchange, named bool) []int64 {
	var out []int64
	if named {
		took := make(map[uint64]int64, len(server))
		for _, s := range server {
			took[s.ID] = s.To - s.From
		}
		for _, c := range client {
			if t, ok := took[c.ID]; ok {
				out = append(out, c.To-c.From-t)
			}
		}
		return out
	}
	byEnd := func(a, b Exchange) int { return cmp.Compare(a.To, b.To) }
	client, server = slices.SortedFunc(slices.Values(client), byEnd), slices.SortedFunc(slices.Values(server), byEnd)
	for len(client) > 0 && len(server) > 0 {
		c := client[0]
		// The answer left after the request was sent and before the client saw its end.
		i := slices.IndexFunc(server, func(s Exchange) bool { return s.From >= c.From })
		if i >= 0 && server[i].To <= c.To {
			out = append(out, c.To-c.From-(server[i].To-server[i].From))
			server = slices.Delete(server, i, i+1)
		}
		client = client[1:]
	}
	return out
}

// Stream is one streamed response as one side saw it, by the wall clock in nanoseconds: when the client sent the request or
// the server had received it, and when each token came or was written.
type Stream struct {
	ID   string
	From int64
	At   []int64
}

// Pair is one streamed response as both sides saw it. The server may have written more tokens than the client has noted.
type Pair struct{ Seen, Written Stream }

// PairStreams finds the two sides of each response that the client saw: by id, or, where ids are missing as over gRPC, by the
// order of the first tokens, which is the order in which they were written.
func PairStreams(seen, written []Stream) ([]Pair, error) {
	byID := make(map[string]Stream, len(written))
	for _, w := range written {
		byID[w.ID] = w
	}
	var out []Pair
	for _, s := range seen {
		if w, ok := byID[s.ID]; ok && s.ID != "" && len(s.At) > 0 && len(w.At) >= len(s.At) {
			out = append(out, Pair{s, w})
		}
	}
	if len(out) == len(seen) {
		return out, nil
	}
	if len(seen) != len(written) {
		return nil, fmt.Errorf("the client saw %d responses, the server wrote %d: ask for fewer tokens, so that all end in time", len(seen), len(written))
	}
	byFirst := func(a, b Stream) int { return cmp.Compare(a.At[0], b.At[0]) }
	seen, written = slices.SortedFunc(slices.Values(seen), byFirst), slices.SortedFunc(slices.Values(written), byFirst)
	out = out[:0]
	for i, s := range seen {
		if len(written[i].At) < len(s.At) {
			return nil, errors.New("the responses do not match the server's log")
		}
		out = append(out, Pair{s, written[i]})
	}
	return out, nil
}

// TokenErrors are the client's times of tokens minus the server's.
func TokenErrors(pairs []Pair) (each []int64, means Tokens) {
	var first, gap, gaps float64
	for _, p := range pairs {
		a, b := p.Seen.At, p.Written.At
		for i := range a {
			each = append(each, a[i]-b[i])
		}
		first += float64(a[0] - b[0])
		last := len(a) - 1
		gap += float64((a[last] - a[0]) - (b[last] - b[0]))
		gaps += float64(last)
	}
	means.TTFTNs = int64(first / max(1, float64(len(pairs))))
	if gaps > 0 {
		means.ITLNs = int64(gap / gaps)
	}
	return each, means
}

// Summary is what a report states of errors.
type Summary struct {
	P50Ns, P99Ns int64
	// AtLeast: there are too few requests for a bound of p99, and P99Ns is the largest error that was seen.
	AtLeast bool
}

// Summarize sorts errors and returns their median and an upper bound of their p99: the order statistic that is not below
// the true p99 with a confidence of 95 %. A bound is stated because a percentile of a short sample is as often too small
// as too large, and a stated error must not be smaller than the true one.
func Summarize(list []int64) Summary {
	n := len(list)
	if n == 0 {
		return Summary{AtLeast: true}
	}
	slices.Sort(list)
	rank := boundRank(n)
	return Summary{P50Ns: list[n/2], P99Ns: list[min(rank, n)-1], AtLeast: rank > n}
}

// boundRank is the smallest rank k, from 1, for which a binomial number of n with the share 0.99 is below k with a
// probability of 0.95 or more; n + 1 where there is none, as with fewer than 299.
func boundRank(n int) int {
	const share, confidence = 0.99, 0.95
	return 1 + sort.Search(n, func(i int) bool { return stats.BinomialTail(float64(i+1), float64(n), share) <= 1-confidence })
}
