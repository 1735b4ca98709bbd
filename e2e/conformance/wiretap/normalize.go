package wiretap

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Normalize makes comparable lines of what a client sent: the calls around the load in the order in which each was
// first made, then the inferences, then what their ids and sequences were. exact keeps data apart from its length:
// for data that the user chose.
func Normalize(list []Request, exact bool) []string {
	n := normalizer{exact: exact, seen: map[string]bool{}, infers: map[string]int{}, counters: map[uint64][]uint64{}, sequences: map[uint64][]string{}, streams: map[int]bool{}, flights: flights{on: map[flight]uint64{}, of: map[uint64]int{}}}
	for i := range list {
		n.now = &list[i]
		switch {
		case list[i].Answer:
			n.flights.end(n.now)
		case list[i].Method != "":
			n.message(n.now)
		default:
			n.request(n.now)
		}
	}
	return n.lines()
}

type normalizer struct {
	exact     bool
	seen      map[string]bool
	server    string
	control   []string
	infers    map[string]int
	total     int
	empty     int                 // inferences without an id
	counters  map[uint64][]uint64 // of ids, by the number of the thread in their upper bits
	sequences map[uint64][]string // flags, by id
	streams   map[int]bool
	flights   flights
	now       *Request // what is looked at
}

// ownKey is what Redline puts before the names of its shared memory, so that it knows what a crashed run left behind.
var ownKey = regexp.MustCompile(`"key":"/redline-\d+-`)

// around takes a call that is not an inference. When a client asks what the server can do is of no consequence, so that
// call has no place in the order.
func (n *normalizer) around(line string) {
	line = ownKey.ReplaceAllString(line, `"key":"/`)
	if strings.HasPrefix(line, "GET /v2 |") || strings.HasPrefix(line, "ServerMetadata |") {
		n.server = line
		return
	}
	if !n.seen[line] {
		n.seen[line] = true
		n.control = append(n.control, line)
	}
}

// infer takes one inference: its text, id, and the sequence it belongs to.
func (n *normalizer) infer(text string, id *uint64, sequence uint64, start, end bool) {
	n.total++
	n.infers[text]++
	if id == nil {
		n.empty++
	} else {
		n.counters[*id>>48] = append(n.counters[*id>>48], *id&(1<<48-1))
	}
	if sequence != 0 {
		n.flights.begin(n.now, id, sequence)
		flags := "mid"
		switch {
		case start && end:
			flags = "only"
		case start:
			flags = "start"
		case end:
			flags = "end"
		}
		n.sequences[sequence] = append(n.sequences[sequence], flags)
	}
}

func (n *normalizer) lines() []string {
	out := append([]string{n.server}, n.control...)
	out = append(out, fmt.Sprintf("%d inferences, %d without an id", n.total, n.empty))
	texts := slices.Sorted(maps.Keys(n.infers))
	for _, t := range texts {
		out = append(out, fmt.Sprintf("%d times %s", n.infers[t], t))
	}
	for _, thread := range slices.Sorted(maps.Keys(n.counters)) {
		out = append(out, fmt.Sprintf("ids of thread %d: %s", thread, run(n.counters[thread])))
	}
	for _, id := range slices.Sorted(maps.Keys(n.sequences)) {
		out = append(out, fmt.Sprintf("sequence %d: %s", id, strings.Join(n.sequences[id], " ")))
	}
	if n.flights.most >= several {
		out = append(out, "several requests of one sequence are on their way at once")
	}
	if len(n.streams) > 0 {
		out = append(out, fmt.Sprintf("%d streams", len(n.streams)))
	}
	return out
}

// run writes numbers as a range if there are no gaps.
func run(list []uint64) string {
	slices.Sort(list)
	if list[len(list)-1]-list[0] == uint64(len(list)-1) {
		return fmt.Sprintf("%d to %d", list[0], list[len(list)-1])
	}
	return fmt.Sprint(list)
}

// data writes the length of data, and what it is where that matters.
func (n *normalizer) data(b []byte) string {
	if n.exact && len(b) > 0 {
		return fmt.Sprintf("%d bytes %.6x", len(b), sha256.Sum256(b))
	}
	return fmt.Sprintf("%d bytes", len(b))
}
