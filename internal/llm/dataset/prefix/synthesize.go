package prefix

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// Change says how a trace is changed. A multiplier of 1 changes nothing.
type Change struct {
	Block  int     // tokens of a block
	Speed  float64 // divides timestamps
	Prefix float64 // multiplies the length of shared prefixes
	Prompt float64 // multiplies the length of the rest of prompts
	Output float64 // multiplies output lengths
	// Trees is the number of copies of the tree of prefixes. Each session, or request without one, uses one of them.
	Trees               int
	MaxInput, MaxOutput int // limits of lengths; 0: none
	Seed                uint64
}

// Unchanged is a change that changes nothing.
func Unchanged() Change {
	return Change{Block: BlockSize, Speed: 1, Prefix: 1, Prompt: 1, Output: 1, Trees: 1}
}

// Synthesize writes a changed trace and returns the number of its requests. Fields that are not changed stay as they are.
//
// A shared path of d blocks becomes one of ⌊d·Prefix⌋ blocks, so that two requests that share c blocks share ⌊c·Prefix⌋ blocks
// afterwards. The rest of a prompt gets blocks that no other request has.
func Synthesize(ctx context.Context, path string, c Change, w io.Writer) (int, error) {
	t := newTree()
	if err := each(ctx, path, c.Block, func(r *record) error { t.add(r.ids); return nil }); err != nil {
		return 0, err
	}
	s := &synthesis{Change: c, tree: t, ids: map[copied]int64{}, trees: map[string]int{}, rand: rand.New(rand.NewPCG(c.Seed, 0x7ace))}
	out, n := json.NewEncoder(w), 0
	out.SetEscapeHTML(false)
	err := each(ctx, path, c.Block, func(r *record) error {
		if err := s.change(r); err != nil {
			return err
		}
		n++
		return out.Encode(r.fields)
	})
	return n, err
}

// synthesis is the writing of one trace.
type synthesis struct {
	Change
	tree  *tree
	ids   map[copied]int64 // new ids of shared blocks
	next  int64            // the next new id
	trees map[string]int   // of sessions
	rand  *rand.Rand
}

// copied is the kth new block of a node, in one of the trees.
type copied struct{ tree, node, k int }

func (s *synthesis) change(r *record) error {
	tree := s.choose(string(r.fields["session_id"]))
	if r.input > 0 {
		ids, tokens := s.blocks(r, tree)
		if s.MaxInput > 0 && tokens > s.MaxInput {
			tokens = s.MaxInput
			ids = ids[:min(len(ids), (tokens+s.Block-1)/s.Block)]
		}
		if tokens < 1 {
			tokens, ids = 1, nil
		}
		r.set("input_length", tokens)
		if len(r.ids) > 0 {
			r.set("hash_ids", append([]int64{}, ids...))
		}
	}
	if r.output > 0 {
		n := max(1, int(math.Round(float64(r.output)*s.Output)))
		if s.MaxOutput > 0 {
			n = min(n, s.MaxOutput)
		}
		r.set("output_length", n)
	}
	if raw := r.fields["timestamp"]; len(raw) > 0 && s.Speed != 1 {
		var at float64
		if err := json.Unmarshal(raw, &at); err != nil {
			return fmt.Errorf("timestamp: %w", err)
		}
		r.set("timestamp", math.Round(at/s.Speed))
	}
	return nil
}

// set sets a field. Numbers and lists of numbers always encode.
func (r *record) set(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	r.fields[name] = raw
}

// choose returns the tree of a session; turns of one session stay in one tree.
func (s *synthesis) choose(session string) int {
	if s.Trees < 2 {
		return 0
	}
	tree, ok := s.trees[session]
	if !ok || session == "" {
		tree = s.rand.IntN(s.Trees)
		if session != "" {
			s.trees[session] = tree
		}
	}
	return tree
}

// blocks returns the new blocks and tokens of a prompt.
func (s *synthesis) blocks(r *record, tree int) (ids []int64, tokens int) {
	path := s.tree.shared(r.ids)
	for d, node := range path {
		from, to := int(float64(d)*s.Prefix), int(float64(d+1)*s.Prefix)
		for k := range to - from {
			ids = append(ids, s.id(copied{tree, node, k}))
		}
	}
	rest := r.input - len(path)*s.Block
	if rest <= 0 { // the last shared block may be partly filled
		return ids, max(len(ids)*s.Block+rest, 0)
	}
	length := int(math.Round(float64(rest) * s.Prompt))
	tokens = len(ids)*s.Block + length
	for range (length + s.Block - 1) / s.Block {
		ids = append(ids, s.fresh())
	}
	return ids, tokens
}

// id returns the id of a shared block.
func (s *synthesis) id(c copied) int64 {
	id, ok := s.ids[c]
	if !ok {
		id = s.fresh()
		s.ids[c] = id
	}
	return id
}

func (s *synthesis) fresh() int64 {
	s.next++
	return s.next - 1
}
