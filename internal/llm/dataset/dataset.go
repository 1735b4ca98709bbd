// Package dataset makes the conversations of a language-model run: from files in the formats of other tools, or generated from
// lengths and a seed.
//
// A Source returns one conversation after another. A file is read once when it is opened, so that an invalid line, an empty file
// or an invalid time is found before the load starts. It is read again during the run, so that memory does not grow with the
// file. The positions of records are kept only if the order is not the file's own, or if a session is spread over the file.
//
// Generated prompts have exactly the requested length, counted by the tokenizer: see package prose. Prefix and Bust control what
// the server's prefix cache can reuse, and Describe reports it, because a throughput means little without it.
package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/redline-bench/redline/internal/llm"
)

// Source yields conversations. It is not safe for concurrent use.
type Source struct {
	o     Options
	from  origin
	d     *completer
	hash  string
	order []int32 // the current shuffle
	rand  *rand.Rand
	taken int // number of conversations returned
	last  int // drawn last, and seen before: by Random
	seen  []uint64
	err   error
}

// origin is where conversations come from.
type origin interface {
	// size is the number of conversations; -1 if there is no end.
	size() int
	// next returns the next conversation, io.EOF after the last; rewind goes back to the first.
	next() (*llm.Conversation, error)
	rewind() error
	// skip passes over the next conversation without making it; io.EOF after the last.
	skip() error
	// at returns conversation i. It is called only if Sampling is not Sequential.
	at(i int) (*llm.Conversation, error)
	timed() bool
	describe(*Info)
	io.Closer
}

// Open checks the options and everything in the file. The tokenizer may be nil: lengths are then approximate.
func Open(ctx context.Context, o Options, tok Tokenizer) (*Source, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Source{o: o, rand: rand.New(rand.NewPCG(o.Seed, 0x5eed))}
	m, err := newMaker(&s.o, tok)
	if err != nil {
		return nil, err
	}
	s.d = &completer{o: &s.o, m: m}
	sum := sha256.New()
	if o.Path == "" {
		s.from = m
	} else if s.from, err = openFile(ctx, &s.o, m, sum); err != nil {
		return nil, err
	}
	if o.Path != "" && o.Batch > 1 {
		from := s.from
		if s.from, err = newBatched(from, o.Batch); err != nil {
			return nil, errors.Join(err, from.Close())
		}
	}
	s.hash = workloadHash(sum.Sum(nil), o, tok, m.frame)
	return s, nil
}

// workloadHash is equal for equal conversations in the same order.
func workloadHash(contents []byte, o Options, tok Tokenizer, f *frame) string {
	sum := sha256.New()
	sum.Write(contents)
	o.Path, o.RunID = "", "" // the path of a file does not matter
	// Options are plain data; they always encode.
	text, _ := json.Marshal(o)
	sum.Write(text)
	if f != nil {
		fmt.Fprint(sum, "chat template", f.first, f.later)
	}
	if tok != nil {
		for _, id := range tok.Encode("How many tokens? Zwölf, 你好 12345.67 ", false) {
			sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// check names the first contradiction of the options.
func (o *Options) check() error {
	for _, l := range []struct {
		what string
		l    Lengths
	}{
		{"input tokens", o.Input},
		{"output tokens", o.Output},
		{"turns", o.Turns},
		{"turn delay", o.Delay},
		{"image width", o.Media.Width},
		{"image height", o.Media.Height},
		{"audio length", o.Media.Seconds},
		{"passages", o.Rankings.Passages},
		{"passage tokens", o.Rankings.PassageTokens},
		{"query tokens", o.Rankings.QueryTokens},
	} {
		if err := l.l.valid(l.what); err != nil {
			return err
		}
	}
	switch {
	case o.Entries < 0, o.Batch < 0, o.Trace.Block < 0, o.Trace.MaxInput < 0, o.Trace.MaxOutput < 0:
		return errors.New("the number of entries, the batch size, the block size and the bounds of a trace must not be negative")
	case o.Prefix.SharedSystem < 0, o.Prefix.UserContext < 0, o.Prefix.Pool < 0, o.Prefix.Length < 0:
		return errors.New("prefix lengths and counts must not be negative")
	case (o.Prefix.Pool > 0) != (o.Prefix.Length > 0):
		return errors.New("a pool of prefixes needs both its size and their length: set --num-prefix-prompts and --prefix-prompt-length")
	case o.Prefix.Pool > 0 && (o.Prefix.SharedSystem > 0 || o.Prefix.UserContext > 0):
		return errors.New("a pool of prefixes and shared system or user context prompts exclude each other; choose one")
	case o.System != "" && o.Prefix.SharedSystem > 0:
		return errors.New("--system-prompt and --shared-system-prompt-length both set the system prompt; choose one")
	case math.IsNaN(o.Trace.Speedup) || o.Trace.Speedup < 0 || math.IsInf(o.Trace.Speedup, 0):
		return fmt.Errorf("the speed-up of a trace is %v; it must be above 0", o.Trace.Speedup)
	case o.DelayRatio != nil && !(*o.DelayRatio >= 0):
		return fmt.Errorf("the delay ratio is %v; it must not be negative", *o.DelayRatio)
	case o.Trace.End > 0 && o.Trace.Start > o.Trace.End:
		return fmt.Errorf("the start offset %v of the trace is after its end offset %v", o.Trace.Start, o.Trace.End)
	case o.Path == "" && o.Format != "":
		return fmt.Errorf("the dataset type %s needs a file: add --input-file", o.Format)
	}
	return o.Media.check()
}

// Next returns the next conversation; false at the end, or after an error: see Err.
func (s *Source) Next() (*llm.Conversation, bool) {
	if s.err != nil || s.over() {
		return nil, false
	}
	c, err := s.pick()
	if errors.Is(err, io.EOF) {
		return nil, false
	}
	if err == nil {
		err = s.d.complete(c, s.taken)
	}
	if err != nil {
		s.err = err
		return nil, false
	}
	if n := s.from.size(); n > 0 && (s.taken >= n || s.o.Sampling == Random) {
		c.ID += "." + strconv.Itoa(s.taken) // the id may have been used before
		c.Again = s.o.Bust == NoBust && s.again(n)
	}
	s.taken++
	return c, true
}

// Skip passes over n conversations: Next then returns what it would return after n calls. It is much faster than Next where
// prompts are generated.
func (s *Source) Skip(n int) {
	for range n {
		if s.err != nil || s.over() {
			return
		}
		if err := s.pass(); err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return
		}
		s.taken++
	}
}

// pass does what pick does, without making the conversation.
func (s *Source) pass() error {
	n := s.from.size()
	if s.o.Sampling == Sequential || n < 0 || s.from.timed() {
		if err := s.rewound(n); err != nil {
			return err
		}
		return s.from.skip()
	}
	if s.choose(n); s.o.Sampling == Random && s.o.Bust == NoBust {
		s.again(n)
	}
	return nil
}

// again reports whether the conversation that was picked last was taken before.
func (s *Source) again(n int) bool {
	if s.o.Sampling != Random {
		return true
	}
	if s.seen == nil {
		s.seen = make([]uint64, n/64+1)
	}
	word, bit := &s.seen[s.last/64], uint64(1)<<(s.last%64)
	was := *word&bit != 0
	*word |= bit
	return was
}

// over reports whether every conversation was taken, if they are taken only once.
func (s *Source) over() bool {
	n := s.from.size()
	return n >= 0 && s.taken >= n && (s.o.Once || s.from.timed())
}

// pick returns a conversation in the order of the options.
func (s *Source) pick() (*llm.Conversation, error) {
	n := s.from.size()
	if s.o.Sampling == Sequential || n < 0 || s.from.timed() {
		if err := s.rewound(n); err != nil {
			return nil, err
		}
		return s.from.next()
	}
	return s.from.at(s.choose(n))
}

// rewound goes back to the first of n conversations after the last.
func (s *Source) rewound(n int) error {
	if n > 0 && s.taken > 0 && s.taken%n == 0 {
		return s.from.rewind()
	}
	return nil
}

// choose returns the number of the next conversation, which is drawn or shuffled.
func (s *Source) choose(n int) int {
	if s.o.Sampling == Random {
		s.last = s.rand.IntN(n)
		return s.last
	}
	if s.taken%n == 0 {
		if s.order == nil {
			s.order = make([]int32, n)
			for i := range s.order {
				s.order[i] = int32(i)
			}
		}
		s.rand.Shuffle(n, func(i, k int) { s.order[i], s.order[k] = s.order[k], s.order[i] })
	}
	return int(s.order[s.taken%n])
}

// Err is the error that ended Next early: a file that changed since it was opened.
func (s *Source) Err() error { return s.err }

// Len is the number of different conversations; -1 if generated prompts never repeat.
func (s *Source) Len() int { return s.from.size() }

// Timed reports whether turns have due times.
func (s *Source) Timed() bool { return s.from.timed() }

// Hash is equal for equal workloads: contents, order, lengths, seed and tokenizer.
func (s *Source) Hash() string { return s.hash }

// Close closes the file.
func (s *Source) Close() error { return s.from.Close() }

// Describe returns the description of the workload for reports. Counts are those up to now.
func (s *Source) Describe() Info {
	i := Info{
		Conversations: s.Len(), Sampling: s.o.Sampling.String(), Timed: s.Timed(), Hash: s.hash, Seed: s.o.Seed,
		Exact: s.d.m.prose.Exact(), Inexact: s.d.m.inexact, TemplateTokens: s.d.m.frame.overhead(true), Estimate: s.o.Estimate,
	}
	s.from.describe(&i)
	made := s.o.Input.Set() || s.o.Pairs != "" || s.o.Rankings.Passages.Set()
	i.Generated = s.o.Path == "" && made || i.Format == Mooncake || i.Format == Bailian || i.Format == BurstGPT
	i.Cache = s.cached()
	return i
}

// cached describes what a prefix cache can reuse.
func (s *Source) cached() Cached {
	c := Cached{Bust: s.o.Bust.String(), Pool: s.o.Prefix.Pool}
	c.Repeats = s.Len() >= 0 && !s.o.Once && !s.Timed()
	switch p := &s.o.Prefix; {
	case p.SharedSystem > 0:
		c.Shared = p.SharedSystem
	case p.Pool > 0:
		c.Shared = p.Length
	}
	switch {
	case s.o.Bust == SystemPrefix || s.o.Bust == FirstTurnPrefix && c.Shared == 0 && s.o.System == "":
		c.State = "cold: every conversation starts with a text that never repeats"
	case s.o.Bust == FirstTurnPrefix:
		c.State = "system prompt may be cached; everything behind it never repeats"
	case c.Pool > 0:
		c.State = fmt.Sprintf("each conversation starts with one of %d prefixes of %d tokens, which may be cached", c.Pool, c.Shared)
	case c.Shared > 0:
		c.State = fmt.Sprintf("all conversations start with the same %d tokens, which may be cached", c.Shared)
	case s.o.Bust != NoBust:
		c.State = "the text before the marker may be cached"
	case s.o.Path != "":
		c.State = "the prompts of the file may share prefixes, which may be cached"
	default:
		c.State = "generated prompts share no prefix"
	}
	if c.Repeats && s.o.Bust != SystemPrefix && s.o.Bust != FirstTurnPrefix {
		c.State += fmt.Sprintf("; a prompt is sent again after %d conversations, and may then be cached", s.Len())
	}
	return c
}
