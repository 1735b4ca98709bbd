package model

import (
	"maps"
	"slices"
)

// Trie is a set of byte strings with a value each, laid out so that the children of a node are neighbors.
type Trie struct {
	nodes []trieNode
	label []byte // label[i] leads to nodes[i]
	root  [256]int32
}

type trieNode struct {
	first int32 // the first child
	n     int32 // how many
	value int32 // -1: no string ends here
}

// NewTrie builds a trie.
func NewTrie(values map[string]int32) *Trie {
	keys := slices.Sorted(maps.Keys(values))
	t := &Trie{nodes: []trieNode{{value: -1}}, label: []byte{0}}
	type span struct {
		node, from, to int32
		depth          int
	}
	queue := []span{{0, 0, int32(len(keys)), 0}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		i := s.from
		if i < s.to && len(keys[i]) == s.depth {
			t.nodes[s.node].value = values[keys[i]]
			i++
		}
		t.nodes[s.node].first = int32(len(t.nodes))
		for i < s.to {
			b, j := keys[i][s.depth], i
			for j < s.to && keys[j][s.depth] == b {
				j++
			}
			queue = append(queue, span{int32(len(t.nodes)), i, j, s.depth + 1})
			t.nodes = append(t.nodes, trieNode{value: -1})
			t.label = append(t.label, b)
			t.nodes[s.node].n++
			i = j
		}
	}
	for b := range t.root {
		t.root[b] = t.search(0, byte(b))
	}
	return t
}

// Next is the child of a node by a byte; -1 if there is none.
func (t *Trie) Next(node int32, b byte) int32 {
	if node == 0 {
		return t.root[b]
	}
	return t.search(node, b)
}

func (t *Trie) search(node int32, b byte) int32 {
	n := &t.nodes[node]
	labels := t.label[n.first : n.first+n.n]
	if len(labels) <= 8 {
		for i, l := range labels {
			if l == b {
				return n.first + int32(i)
			}
		}
		return -1
	}
	if i, ok := slices.BinarySearch(labels, b); ok {
		return n.first + int32(i)
	}
	return -1
}

// Value is the value of the string that ends at a node; -1 if none does.
func (t *Trie) Value(node int32) int32 { return t.nodes[node].value }
