package rx

import (
	"unicode"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// set is a set of characters: the union of its parts, then all others if neg, then only those in every set of and.
type set struct {
	table  *unitab.Tables
	mask   unitab.Mask
	ranges [][2]rune
	tables []*unicode.RangeTable
	sets   []*set
	and    []*set
	neg    bool
	ascii  [2]uint64 // the response for the first 128 characters
}

// has reports whether a character is in the set.
func (c *set) has(r rune) bool {
	if r < utf8.RuneSelf {
		return c.ascii[r>>6]>>(r&63)&1 != 0
	}
	return c.slow(r)
}

func (c *set) slow(r rune) bool {
	for _, s := range c.and {
		if !s.slow(r) {
			return false
		}
	}
	return c.own(r) != c.neg
}

func (c *set) own(r rune) bool {
	if c.table.Mask(r)&c.mask != 0 {
		return true
	}
	for _, p := range c.ranges {
		if r >= p[0] && r <= p[1] {
			return true
		}
	}
	for _, t := range c.tables {
		if unicode.Is(t, r) {
			return true
		}
	}
	for _, s := range c.sets {
		if s.slow(r) {
			return true
		}
	}
	return false
}

// seal works out the responses for ASCII; the set must not change after.
func (c *set) seal() *set {
	c.ascii = [2]uint64{}
	for r := range rune(utf8.RuneSelf) {
		if c.slow(r) {
			c.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return c
}

// add adds a range of characters; with fold, also those that differ from them in case only.
func (c *set) add(a, b rune, fold bool) {
	c.ranges = append(c.ranges, [2]rune{a, b})
	if !fold {
		return
	}
	if b-a > 0x3000 { // nothing folds into such a range that is not in it
		return
	}
	for r := a; r <= b; r++ {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			c.ranges = append(c.ranges, [2]rune{f, f})
		}
	}
}

// categories maps the names of \p{...} to masks.
func categories() map[string]unitab.Mask {
	return map[string]unitab.Mask{
		"l": unitab.L, "letter": unitab.L, "m": unitab.M, "mark": unitab.M, "n": unitab.N, "number": unitab.N,
		"p": unitab.P, "punctuation": unitab.P, "punct": unitab.P | unitab.S, "s": unitab.S, "symbol": unitab.S, "z": unitab.Z, "separator": unitab.Z,
		"c": unitab.C, "other": unitab.C, "lu": unitab.Lu, "ll": unitab.Ll, "lt": unitab.Lt, "lm": unitab.Lm, "lo": unitab.Lo,
		"mn": unitab.Mn, "mc": unitab.Mc, "me": unitab.Me, "nd": unitab.Nd, "nl": unitab.Nl, "no": unitab.No,
		"pc": unitab.Pc, "pd": unitab.Pd, "ps": unitab.Ps, "pe": unitab.Pe, "pi": unitab.Pi, "pf": unitab.Pf, "po": unitab.Po,
		"sm": unitab.Sm, "sc": unitab.Sc, "sk": unitab.Sk, "so": unitab.So, "zs": unitab.Zs, "zl": unitab.Zl, "zp": unitab.Zp,
		"cc": unitab.Cc, "cf": unitab.Cf, "co": unitab.Co, "cn": unitab.Cn,
		"alnum": unitab.L | unitab.M | unitab.Nd, "alpha": unitab.L | unitab.M | unitab.Nl, "cntrl": unitab.Cc, "digit": unitab.Nd,
		"lower": unitab.Ll, "upper": unitab.Lu, "space": unitab.Space, "word": unitab.Word, "blank": unitab.Zs,
		"uppercaseletter": unitab.Lu, "lowercaseletter": unitab.Ll, "decimalnumber": unitab.Nd,
	}
}
