package rx

import (
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// Regexp is a compiled pattern. It is safe for concurrent use.
type Regexp struct {
	match step
	first *set // characters that a match can begin with; nil: any, or an empty match

	exceeded atomic.Bool // some Find took more steps than it may
}

// step tries to match at a place of a text. It returns the end of the match, none, or exceeded, and how many of the left
// steps remain. Only places where the matcher has a choice count as steps.
type step func(s string, i, left int) (end, remain int)

// Values of step that are no end.
const (
	none     = -1
	exceeded = -2
)

// Limits of the steps of one Find, and of its tries to match at one place, whose steps may all be nested on the stack.
// Patterns of real tokenizers take a few steps per character; a pattern such as (a+)+$ takes 2 to the power of the text's
// length.
const (
	stepsPerFind  = 1_000_000
	stepsPerByte  = 100
	stepsPerPlace = 500_000
)

// Exceeded reports whether a Find was given up because it took too many steps. Its results are then incomplete.
func (r *Regexp) Exceeded() bool { return r.exceeded.Load() }

// Exceeded asks a part of a tokenizer whether one of its patterns was given up; a part without an Exceeded method has no
// limit.
func Exceeded(part any) bool {
	limited, ok := part.(interface{ Exceeded() bool })
	return ok && limited.Exceeded()
}

// Compile compiles a pattern.
func Compile(pattern string) (*Regexp, error) {
	p := &parser{src: pattern, names: categories()}
	n, err := p.alt()
	if err != nil {
		return nil, err
	}
	if p.more() {
		return nil, p.fail("a parenthesis has no beginning")
	}
	c := &compiler{parser: p}
	match := c.node(n, last)
	if c.err != nil {
		return nil, c.err
	}
	return &Regexp{match: match, first: firsts(n)}, nil
}

// Find finds the first match at or after a place; start is -1 if there is none.
func (r *Regexp) Find(s string, from int) (start, end int) {
	left := stepsPerFind + stepsPerByte*len(s)
	for i := from; i <= len(s); {
		c, size := utf8.RuneError, 1
		if i < len(s) {
			if c = rune(s[i]); c >= utf8.RuneSelf {
				c, size = utf8.DecodeRuneInString(s[i:])
			}
		}
		if r.first == nil || i < len(s) && r.first.has(c) {
			allowed := min(left, stepsPerPlace)
			e, remain := r.match(s, i, allowed)
			if e >= 0 {
				return i, e
			}
			if e == exceeded {
				r.exceeded.Store(true)
				break
			}
			left -= allowed - remain
		}
		i += size
	}
	return -1, -1
}

// firsts is the set of characters a pattern can begin with; nil if it is not simple to tell.
func firsts(n *node) *set {
	switch n.kind {
	case kSet:
		return n.set
	case kSeq:
		if len(n.subs) > 0 {
			return firsts(n.subs[0])
		}
	case kRepeat:
		if n.min > 0 {
			return firsts(n.subs[0])
		}
	case kAlt:
		u := &set{table: unitab.Get()}
		for _, sub := range n.subs {
			f := firsts(sub)
			if f == nil {
				return nil
			}
			u.sets = append(u.sets, f)
		}
		return u.seal()
	default:
	}
	return nil
}

type compiler struct {
	*parser
	err  error
	size int
}

// node compiles a node, with what has to match behind it.
func (c *compiler) node(n *node, next step) step {
	if c.size++; c.size > 20000 && c.err == nil {
		c.err = c.fail("the pattern is too large")
	}
	if c.err != nil {
		return next
	}
	switch n.kind {
	case kSet:
		return one(n.set, next)
	case kSeq:
		for _, sub := range slices.Backward(n.subs) {
			next = c.node(sub, next)
		}
		return next
	case kAlt:
		return c.alts(n, next)
	case kRepeat:
		return c.loop(n, next)
	case kLook, kBehind:
		return c.look(n, next)
	case kAtomic:
		sub := c.node(n.subs[0], last)
		return func(s string, i, left int) (int, int) {
			e, left := sub(s, i, left)
			if e >= 0 {
				return next(s, e, left)
			}
			return e, left
		}
	default:
		return assert(n.code, next)
	}
}

// last ends a pattern that stands by itself.
func last(_ string, i, left int) (int, int) { return i, left }

func one(set *set, next step) step {
	return func(s string, i, left int) (int, int) {
		if i >= len(s) {
			return none, left
		}
		if b := s[i]; b < utf8.RuneSelf {
			if set.ascii[b>>6]>>(b&63)&1 == 0 {
				return none, left
			}
			return next(s, i+1, left)
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !set.slow(r) {
			return none, left
		}
		return next(s, i+size, left)
	}
}

func (c *compiler) alts(n *node, next step) step {
	steps := make([]step, len(n.subs))
	for i, sub := range n.subs {
		steps[i] = c.node(sub, next)
	}
	return func(s string, i, left int) (int, int) {
		for _, st := range steps {
			if left--; left < 0 {
				return exceeded, left
			}
			var e int
			if e, left = st(s, i, left); e != none {
				return e, left
			}
		}
		return none, left
	}
}

// loop compiles a repeat.
func (c *compiler) loop(n *node, next step) step {
	sub := n.subs[0]
	if n.keep {
		greedy := *n
		greedy.keep = false
		return c.node(&node{kind: kAtomic, subs: []*node{&greedy}}, next)
	}
	for sub.kind == kSeq && len(sub.subs) == 1 {
		sub = sub.subs[0]
	}
	if sub.kind == kSet && !n.lazy {
		return greedy(sub.set, n.min, n.max, next)
	}
	if empty(sub) {
		if n.max != 1 {
			c.err = c.fail("a repeat of what may be empty is not supported")
		}
	}
	if n.max < 0 {
		next = c.star(sub, n.lazy, next)
	} else {
		for range n.max - n.min {
			skip, take := next, c.node(sub, next)
			next = either(take, skip, n.lazy)
		}
	}
	for range n.min {
		next = c.node(sub, next)
	}
	return next
}

// either tries two ways, the second first if lazy.
func either(take, skip step, lazy bool) step {
	if lazy {
		take, skip = skip, take
	}
	return func(s string, i, left int) (int, int) {
		if left--; left < 0 {
			return exceeded, left
		}
		e, left := take(s, i, left)
		if e != none {
			return e, left
		}
		return skip(s, i, left)
	}
}

func (c *compiler) star(sub *node, lazy bool, next step) step {
	var self step
	body := c.node(sub, func(s string, i, left int) (int, int) { return self(s, i, left) })
	self = either(body, next, lazy)
	return self
}

// greedy repeats a set as often as it can, then gives back one by one.
func greedy(set *set, lo, hi int, next step) step {
	return func(s string, i, left int) (int, int) {
		j, n, least := i, 0, i
		for ; (hi < 0 || n < hi) && j < len(s); n++ {
			if n == lo {
				least = j
			}
			r, size := rune(s[j]), 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRuneInString(s[j:])
			}
			if !set.has(r) {
				break
			}
			j += size
		}
		if n < lo {
			return none, left
		}
		if n == lo {
			least = j
		}
		for {
			if left--; left < 0 {
				return exceeded, left
			}
			var e int
			if e, left = next(s, j, left); e != none {
				return e, left
			}
			if j <= least {
				return none, left
			}
			_, size := utf8.DecodeLastRuneInString(s[:j])
			j -= size
		}
	}
}

// empty reports whether a node can match nothing.
func empty(n *node) bool {
	switch n.kind {
	case kSet:
		return false
	case kSeq, kAtomic:
		for _, s := range n.subs {
			if !empty(s) {
				return false
			}
		}
		return true
	case kAlt:
		return slices.ContainsFunc(n.subs, empty)
	case kRepeat:
		return n.min == 0 || empty(n.subs[0])
	default:
		return true
	}
}
