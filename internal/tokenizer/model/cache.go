package model

import "hash/maphash"

// The cache holds words of up to cacheKey bytes that have up to cacheIDs tokens; an entry fills one cache line.
const (
	cacheKey   = 22
	cacheIDs   = 10
	cacheSlots = 1 << 15
)

type cacheEntry struct {
	keyLen, n uint8 // keyLen is 0 in an empty slot: the empty word has no tokens and is never kept
	key       [cacheKey]byte
	ids       [cacheIDs]uint32
}

// cache is a direct-mapped table: a new word takes the place of the old one, so it never grows.
type cache struct {
	slots [cacheSlots]cacheEntry
	seed  maphash.Seed
}

func newCache() *cache { return &cache{seed: maphash.MakeSeed()} }

// slot is where a word belongs.
func (c *cache) slot(word string) *cacheEntry {
	return &c.slots[maphash.String(c.seed, word)%cacheSlots]
}

// get appends the tokens of a word that is in the cache.
func (e *cacheEntry) get(dst []int, word string) ([]int, bool) {
	if int(e.keyLen) != len(word) || string(e.key[:e.keyLen]) != word {
		return dst, false
	}
	if e.n == 1 {
		return append(dst, int(e.ids[0])), true
	}
	for _, id := range e.ids[:e.n] {
		dst = append(dst, int(id))
	}
	return dst, true
}

func (e *cacheEntry) set(word string, ids []int) {
	if len(ids) > cacheIDs {
		return
	}
	e.keyLen, e.n = uint8(len(word)), uint8(len(ids))
	copy(e.key[:], word)
	for i, id := range ids {
		e.ids[i] = uint32(id)
	}
}

// coder turns a word into ids, whether it was seen before or not.
type coder interface {
	appendNew(dst []int, word string, s *Scratch) []int
}

// known appends the ids of a word: those that it had the last time, else what m makes of it.
func (s *Scratch) known(dst []int, word string, m coder) []int {
	if word == "" {
		return dst
	}
	if s.cache == nil || len(word) > cacheKey {
		return m.appendNew(dst, word, s)
	}
	e := s.cache.slot(word)
	dst, ok := e.get(dst, word)
	if ok {
		return dst
	}
	n := len(dst)
	dst = m.appendNew(dst, word, s)
	e.set(word, dst[n:])
	return dst
}
