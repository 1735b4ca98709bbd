package model

import "math/bits"

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
	slots []cacheEntry
}

func newCache() *cache { return &cache{slots: make([]cacheEntry, cacheSlots)} }

// slot is where a word of 1 to cacheKey bytes belongs.
func (c *cache) slot(word string) *cacheEntry {
	return &c.slots[hashWord(word)>>(64-15)]
}

// hashWord mixes the words of eight bytes of a short string.
func hashWord(w string) uint64 {
	const k0, k1 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	n := len(w)
	h := uint64(n) * k1
	var a, b uint64
	switch {
	case n >= 8:
		b = le64(w[n-8:])
		for i := 0; i+8 < n; i += 8 {
			a = le64(w[i:])
			hi, lo := bits.Mul64(a^h, k0)
			h = hi ^ lo
		}
	case n >= 4:
		a, b = uint64(le32(w)), uint64(le32(w[n-4:]))
	default:
		a = uint64(w[0]) | uint64(w[n>>1])<<8 | uint64(w[n-1])<<16
	}
	hi, lo := bits.Mul64(a^h^k0, b^k1)
	return (hi ^ lo) * k0
}

// le64 and le32 read a string as numbers; the compiler makes one load of each.
func le64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func le32(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
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
