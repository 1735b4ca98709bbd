package calibrate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"

	"github.com/redline-bench/redline/internal/stats"
)

// Exchange is one request as one side saw it, by the wall clock in nanoseconds: the client from send to end, the server
// from the whole request to the last write of the answer.
type Exchange struct {
	ID       uint64
	From, To int64
}

// ReadLog reads the log of the reference server. named is false where requests of the kind carry no id.
func ReadLog(r io.Reader) (list []Exchange, named bool, err error) {
	named = true
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		var l struct {
			ID       string  `json:"id"`
			Received int64   `json:"received_ns"`
			Replied  int64   `json:"replied_ns"`
			Events   []int64 `json:"events_ns"`
		}
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, false, fmt.Errorf("read the server's log: %w", err)
		}
		x := Exchange{From: l.Received, To: l.Replied}
		if n := len(l.Events); n > 0 { // these are noted nearer to the write
			x.To = l.Events[n-1]
		}
		if x.ID, err = strconv.ParseUint(l.ID, 10, 64); err != nil {
			named = false
		}
		list = append(list, x)
	}
	return list, named, scan.Err()
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

// Summary is what a report states of errors.
type Summary struct {
	P50Ns, P99Ns int64
	// AtLeast: there are too few requests for a bound of p99, and P99Ns is the largest error that was seen.
	AtLeast bool
}

// Summarize sorts errors and returns their median and an upper bound of their p99: the order statistic that is not below
// the true p99 with a confidence of 95 %. A bound is stated because a percentile of a short sample is as often too small
// as too large, and a stated error must not be smaller than the true one.
func Summarize(errors []int64) Summary {
	n := len(errors)
	if n == 0 {
		return Summary{AtLeast: true}
	}
	slices.Sort(errors)
	rank := boundRank(n)
	return Summary{P50Ns: errors[n/2], P99Ns: errors[min(rank, n)-1], AtLeast: rank > n}
}

// boundRank is the smallest rank k, from 1, for which a binomial number of n with the share 0.99 is below k with a
// probability of 0.95 or more; n + 1 where there is none, as with fewer than 299.
func boundRank(n int) int {
	const share, confidence = 0.99, 0.95
	return 1 + sort.Search(n, func(i int) bool { return stats.BinomialTail(float64(i+1), float64(n), share) <= 1-confidence })
}
