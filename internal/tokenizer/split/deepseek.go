package split

import (
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// DeepSeek cuts by three patterns, one after the other. They leave gaps: what is between two matches is a word too.

// threeDigits is the first: numbers of up to three digits.
func threeDigits(t *chars.Table, s string, i int) int {
	c, size := t.At(s, i)
	if c&chars.Number == 0 {
		return t.Until(s, i, chars.Number)
	}
	return numbers(t, s, i+size, 2)
}

// eastAsian is the second: runs of Chinese and Japanese.
func eastAsian(_ *chars.Table, s string, i int) int {
	is := func(r rune) bool { return r >= '一' && r <= '龥' || r >= '\u3040' && r <= 'ヿ' }
	first, _ := utf8.DecodeRuneInString(s[i:])
	for at, r := range s[i:] {
		if is(r) != is(first) {
			return i + at
		}
	}
	return len(s)
}

// deepseek is the third: words, symbols and white space.
func deepseek(t *chars.Table, s string, i int) int {
	for at := i; at < len(s); {
		if end := deepseekMatch(t, s, at); end > at {
			if at > i {
				return at // the gap before the match
			}
			return end
		}
		_, size := t.At(s, at)
		at += size
	}
	return len(s)
}

// deepseekMatch returns the end of the match at a place; the place itself if there is none.
func deepseekMatch(t *chars.Table, s string, i int) int {
	const inWord = chars.Letter | chars.Mark
	c, size := t.At(s, i)
	next := i + size
	if c&chars.Symbol != 0 && size == 1 && next < len(s) && asciiLetter(s[next]) {
		for next < len(s) && asciiLetter(s[next]) {
			next++
		}
		return next
	}
	if c&(chars.Letter|chars.Symbol) == 0 && !newline(s[i]) {
		if end := t.While(s, next, inWord); end > next {
			return end
		}
	}
	if c&inWord != 0 {
		return t.While(s, i, inWord)
	}
	if s[i] != ' ' {
		next = i
	}
	if end := t.While(s, next, chars.Symbol); end > next {
		for end < len(s) && newline(s[end]) {
			end++
		}
		return end
	}
	if c&chars.Space != 0 {
		return lines(t, s, i)
	}
	return i
}

func asciiLetter(b byte) bool { return lowerByte(b) >= 'a' && lowerByte(b) <= 'z' }
