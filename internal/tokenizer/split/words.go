package split

import (
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// The matchers of this file take a text and a place in it and say where the word that begins there ends. Each does
// what one well-known regular expression does, which its comment names by the model that made it known.

const letterOrNumber = chars.Letter | chars.Number

func newline(b byte) bool { return b == '\n' || b == '\r' }

// contraction is the length of 's, 't, 'm, 'd, 're, 've or 'll at a place; 0 if there is none. With fold, case does
// not matter, and the long s is an s.
func contraction(s string, i int, fold bool) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	a, b := s[i+1], byte(0)
	if i+2 < len(s) {
		b = s[i+2]
	}
	if fold {
		if a == 0xC5 && b == 0xBF {
			return 3
		}
		a, b = lowerByte(a), lowerByte(b)
	}
	switch a {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if b == 'e' {
			return 3
		}
	case 'l':
		if b == 'l' {
			return 3
		}
	}
	return 0
}

func lowerByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 32
	}
	return b
}

// spaces is the end of a word of white space: all of it at the end of the text, else without the last character,
// which belongs to the next word, but at least one.
func spaces(t *chars.Table, s string, i int) int {
	return butLast(s, i, t.While(s, i, chars.Space))
}

// butLast leaves out the last character of s[i:end], unless the text ends there or it is the only one.
func butLast(s string, i, end int) int {
	if end == len(s) {
		return end
	}
	_, size := utf8.DecodeLastRuneInString(s[i:end])
	if end-size > i {
		return end - size
	}
	return end
}

// lines is spaces for patterns in which white space ends behind the last line break it has.
func lines(t *chars.Table, s string, i int) int {
	end := t.While(s, i, chars.Space)
	for j := end - 1; j >= i; j-- {
		if newline(s[j]) {
			return j + 1
		}
	}
	return butLast(s, i, end)
}

// gpt2 is the pattern of GPT-2 and of the ByteLevel pre-tokenizer.
func gpt2(t *chars.Table, s string, i int) int {
	if n := contraction(s, i, false); n > 0 {
		return i + n
	}
	j := i
	if s[i] == ' ' && i+1 < len(s) {
		j++
	}
	m, size := t.At(s, j)
	switch {
	case m&chars.Space != 0:
		return spaces(t, s, i)
	case m&chars.Letter != 0:
		return t.While(s, j+size, chars.Letter)
	case m&chars.Number != 0:
		return t.While(s, j+size, chars.Number)
	}
	return t.Until(s, j+size, letterOrNumber|chars.Space)
}

// cl100k is the pattern of GPT-4 and Llama 3: numbers of up to three digits. qwen differs in the digits.
func cl100k(t *chars.Table, s string, i int) int { return modern(t, s, i, 3) }

func qwen(t *chars.Table, s string, i int) int { return modern(t, s, i, 1) }

func modern(t *chars.Table, s string, i, digits int) int {
	m, size := t.At(s, i)
	if m&chars.Letter != 0 {
		return t.While(s, i+size, chars.Letter)
	}
	if m&chars.Number != 0 {
		return numbers(t, s, i+size, digits-1)
	}
	if n := contraction(s, i, true); n > 0 {
		return i + n
	}
	if i+size == len(s) {
		return len(s)
	}
	if !newline(s[i]) {
		if m2, size2 := t.At(s, i+size); m2&chars.Letter != 0 {
			return t.While(s, i+size+size2, chars.Letter)
		}
	}
	return symbols(t, s, i, m, false)
}

// numbers is the end of a run of up to n more numbers.
func numbers(t *chars.Table, s string, i, n int) int {
	for ; n > 0 && i < len(s); n-- {
		m, size := t.At(s, i)
		if m&chars.Number == 0 {
			break
		}
		i += size
	}
	return i
}

// symbols is the end of a word of symbols, with a space before and line breaks (and slashes) behind, or of white space.
// m is the mask of the character at i, which is neither a letter nor a number.
func symbols(t *chars.Table, s string, i int, m chars.Class, slash bool) int {
	const not = letterOrNumber | chars.Space
	j := i
	if s[i] == ' ' && i+1 < len(s) {
		j++
		m, _ = t.At(s, j)
	}
	if m&not != 0 {
		return lines(t, s, i)
	}
	end := t.Until(s, j, not)
	for end < len(s) && (newline(s[end]) || slash && s[end] == '/') {
		end++
	}
	return end
}

const (
	capital = chars.Upper | chars.Caseless | chars.Mark
	small   = chars.Lower | chars.Caseless | chars.Mark
)

// o200k is the pattern of GPT-4o: words end where capitals begin. tekken, of Mistral, has no contractions and takes
// one digit at a time.
func o200k(t *chars.Table, s string, i int) int { return cased(t, s, i, 3, true) }

func tekken(t *chars.Table, s string, i int) int { return cased(t, s, i, 1, false) }

func cased(t *chars.Table, s string, i, digits int, contract bool) int {
	m, size := t.At(s, i)
	if m&chars.Number != 0 {
		return numbers(t, s, i+size, digits-1)
	}
	head := 0 // the length of a symbol that may begin the word
	if m&letterOrNumber == 0 && !newline(s[i]) {
		head = size
	}
	end := 0
	if head > 0 {
		end = capSmall(t, s, i+head)
	}
	if end == 0 {
		end = capSmall(t, s, i)
	}
	if end == 0 && head > 0 {
		end = capsSmall(t, s, i+head)
	}
	if end == 0 {
		end = capsSmall(t, s, i)
	}
	if end > 0 {
		if contract {
			end += contraction(s, end, true)
		}
		return end
	}
	return symbols(t, s, i, m, true)
}

// capSmall matches capitals, if any, then small letters; 0 if there are no small letters.
func capSmall(t *chars.Table, s string, i int) int {
	k, back := i, 0
	for k < len(s) {
		m, size := t.At(s, k)
		if m&capital == 0 {
			break
		}
		k += size
		if m&small != 0 {
			back = k // small as well: the match can end here
		}
	}
	if end := t.While(s, k, small); end > k {
		return end
	}
	return back
}

// capsSmall matches capitals, then small letters if any; 0 if there are no capitals.
func capsSmall(t *chars.Table, s string, i int) int {
	k := t.While(s, i, capital)
	if k == i {
		return 0
	}
	return t.While(s, k, small)
}
