package model

import "math/bits"

// shortWord is the length up to which looking at every pair beats a heap.
const shortWord = 48

// pairTable maps a pair of ids to the rank of its merge and the id that it makes: rank<<32 | id.
type pairTable struct {
	slots []pairSlot
	shift uint8
}

type pairSlot struct {
	key, value uint64 // value is noneRank in an empty slot
}

func newPairTable(n int) pairTable {
	size := uint(bits.Len(uint(n*2))) + 1
	t := pairTable{slots: make([]pairSlot, 1<<size), shift: uint8(64 - size)}
	for i := range t.slots {
		t.slots[i].value = noneRank
	}
	return t
}

func (t *pairTable) at(key uint64) int {
	return int((key ^ key>>29) * 0x9E3779B97F4A7C15 >> t.shift)
}

// set stores a pair; a later one wins.
func (t *pairTable) set(a, b, rank, id uint32) {
	key := uint64(a)<<32 | uint64(b)
	i := t.at(key)
	for t.slots[i].value != noneRank && t.slots[i].key != key {
		i = (i + 1) & (len(t.slots) - 1)
	}
	t.slots[i] = pairSlot{key, uint64(rank)<<32 | uint64(id)}
}

// get is the value of a pair, noneRank if it does not merge.
func (t *pairTable) get(a, b uint32) uint64 {
	key := uint64(a)<<32 | uint64(b)
	i := t.at(key)
	for {
		s := &t.slots[i]
		if s.key == key || s.value == noneRank {
			return s.value
		}
		i = (i + 1) & (len(t.slots) - 1)
	}
}

// mergeShort merges s.syms in place, looking for the best pair by a scan.
func (m *BPE) mergeShort(s *Scratch) {
	syms, pairs := s.syms, s.pairs[:0]
	for i := 1; i < len(syms); i++ {
		pairs = append(pairs, m.merges.get(syms[i-1], syms[i]))
	}
	for len(pairs) > 0 {
		at, best := 0, pairs[0]
		for i, p := range pairs {
			if p < best {
				at, best = i, p
			}
		}
		if best == noneRank {
			break
		}
		syms[at] = uint32(best)
		copy(syms[at+1:], syms[at+2:])
		syms = syms[:len(syms)-1]
		copy(pairs[at:], pairs[at+1:])
		pairs = pairs[:len(pairs)-1]
		if at > 0 {
			pairs[at-1] = m.merges.get(syms[at-1], syms[at])
		}
		if at < len(pairs) {
			pairs[at] = m.merges.get(syms[at], syms[at+1])
		}
	}
	s.syms, s.pairs = syms, pairs[:0]
}

// node is a symbol in a linked list; id is none once it is merged into its neighbor.
type node struct {
	id         uint32
	prev, next int32
}

// candidate is a merge that may be done: value as in pairTable, for the node at pos and its next.
type candidate struct {
	value uint64
	pos   int32
	left  uint32 // ids when it was found: others now mean that it is out of date
	right uint32
}

func (c candidate) before(o candidate) bool {
	if c.value != o.value {
		return c.value < o.value
	}
	return c.pos < o.pos
}

// mergeLong merges s.syms in place with a heap: the time grows with n log n.
func (m *BPE) mergeLong(s *Scratch) {
	nodes, h := s.nodes[:0], s.heap[:0]
	for i, id := range s.syms {
		nodes = append(nodes, node{id, int32(i - 1), int32(i + 1)})
	}
	nodes[len(nodes)-1].next = -1
	for i := 0; i+1 < len(nodes); i++ {
		h = m.offer(h, nodes, int32(i))
	}
	for len(h) > 0 {
		c := h[0]
		h = pop(h)
		n := &nodes[c.pos]
		if n.id != c.left || n.next < 0 || nodes[n.next].id != c.right {
			continue
		}
		gone := &nodes[n.next]
		n.id, n.next = uint32(c.value), gone.next
		gone.id = none
		if n.next >= 0 {
			nodes[n.next].prev = c.pos
			h = m.offer(h, nodes, c.pos)
		}
		if n.prev >= 0 {
			h = m.offer(h, nodes, n.prev)
		}
	}
	syms := s.syms[:0]
	for i := int32(0); i >= 0; i = nodes[i].next {
		syms = append(syms, nodes[i].id)
	}
	s.syms, s.nodes, s.heap = syms, nodes, h
}

// offer puts the pair at pos on the heap if it merges.
func (m *BPE) offer(h []candidate, nodes []node, pos int32) []candidate {
	a := nodes[pos].id
	b := nodes[nodes[pos].next].id
	v := m.merges.get(a, b)
	if v == noneRank {
		return h
	}
	h = append(h, candidate{v, pos, a, b})
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
	return h
}

// pop removes the first of the heap.
func pop(h []candidate) []candidate {
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			return h
		}
		if down+1 < n && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(h[i]) {
			return h
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
