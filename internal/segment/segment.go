// Package segment divides one load exactly over several processes.
//
// Every process has the whole plan and the number of its segment, and works out its own part from these two; nothing is
// negotiated. The parts are exact: everything that a load counts from 0 (slots, arrivals, sessions, conversations, sequences)
// keeps its number, and each number belongs to one segment. So the union of all segments is the load of one process, for any
// number of segments: no request is sent twice and none is lost. A segment may have nothing to do; it is then idle.
//
// Two rules follow from that:
//
//   - Arrival k belongs to one segment and keeps the due time that it has in the whole. Where arrivals are drawn at random,
//     each segment draws the whole with the seed of the plan and keeps its own arrivals. The arrivals then do not depend on the
//     number of segments, and a fixed number of requests ends with the same arrival. Independent draws of the segments would
//     add up to the same law for Poisson arrivals only, not for gamma arrivals, and to another draw for each number of
//     segments. The price is one random number for each arrival of the whole, a few nanoseconds.
//   - Choices that one process makes as the load runs, such as the length of the next sequence, depend on the order of
//     responses. They cannot be the same in several processes. Each segment draws them with a seed of its own (Seed), so that
//     they are independent and have the same law.
package segment

import (
	"fmt"
	"strconv"
	"strings"
)

// Segment is one of Of equal parts of a load, counted from 0. The zero value is the whole.
type Segment struct {
	Index, Of int
}

// Most is the largest number of segments.
const Most = 1_000_000

// Whole tells whether the segment is the whole load.
func (s Segment) Whole() bool { return s.Of <= 1 && s.Index == 0 }

// Parts is the number of segments, at least 1.
func (s Segment) Parts() int { return max(1, s.Of) }

// Among is the segment where only the first n segments can have anything, such as n threads; others have no share of anything. n
// below 1 is no limit.
func (s Segment) Among(n int) Segment {
	if n < 1 || n >= s.Parts() {
		return s
	}
	return Segment{Index: s.Index, Of: n}
}

// Share is how many of n numbered things the segment has: those whose number modulo the number of segments is its index. 10 over
// three segments are 4, 3 and 3.
func (s Segment) Share(n int) int {
	if n <= s.Index || s.Index >= s.Parts() {
		return 0
	}
	return (n-s.Index-1)/s.Parts() + 1
}

// Number is the number in the whole of thing j of the segment.
func (s Segment) Number(j int) int { return j*s.Parts() + s.Index }

// Block is the contiguous part of n things that the segment has: count of them, from first on. The blocks of all segments have
// the lengths of Share and follow one another.
func (s Segment) Block(n uint64) (first, count uint64) {
	parts, index := uint64(s.Parts()), uint64(s.Index)
	share, more := n/parts, n%parts
	first = index*share + min(index, more)
	if count = share; index < more {
		count++
	}
	return first, count
}

// Seed is the seed of what the segment draws for itself. The first segment has the seed of the plan.
func (s Segment) Seed(seed uint64) uint64 {
	if s.Index == 0 {
		return seed
	}
	x := seed + uint64(s.Index)*0x9e3779b97f4a7c15 // the steps and constants of SplitMix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Parse reads "2/5", the second of five segments.
func Parse(text string) (Segment, error) {
	first, second, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(strings.TrimSpace(first))
	of, err2 := strconv.Atoi(strings.TrimSpace(second))
	if !ok || err1 != nil || err2 != nil || index < 1 || index > of || of > Most {
		return Segment{}, fmt.Errorf(`is NUMBER/COUNT, as "2/5" for the second of five parts, not %q`, text)
	}
	return Segment{Index: index - 1, Of: of}, nil
}

// String writes a segment as Parse reads it; the whole is "1/1".
func (s Segment) String() string { return fmt.Sprintf("%d/%d", s.Index+1, s.Parts()) }

// Valid tells whether the index is one of the segments.
func (s Segment) Valid() bool {
	return s.Index >= 0 && s.Index < s.Parts() && s.Of >= 0 && s.Of <= Most
}

// MarshalText implements encoding.TextMarshaler.
func (s Segment) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Segment) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}
