package model

import "unicode/utf8"

// The byte-level alphabet writes each byte as a visible character: printable Latin-1 characters stand for
// themselves, the rest is moved to U+0100 and on.
var toRune, toByte = byteAlphabet()

func byteAlphabet() (to [256]rune, from [512]int16) {
	for i := range from {
		from[i] = -1
	}
	next := rune(256)
	for b := range 256 {
		r := rune(b)
		visible := b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE
		if !visible {
			r = next
			next++
		}
		to[b] = r
		from[r] = int16(b)
	}
	return to, from
}

// ToByteLevel appends the byte-level writing of a text.
func ToByteLevel(dst []byte, text string) []byte {
	for i := range len(text) {
		dst = utf8.AppendRune(dst, toRune[text[i]])
	}
	return dst
}

// FromByteLevel appends the bytes that a byte-level token stands for; false if it has characters of no byte.
func FromByteLevel(dst []byte, token string) ([]byte, bool) {
	n := len(dst)
	for _, r := range token {
		if r >= 512 || toByte[r] < 0 {
			return dst[:n], false
		}
		dst = append(dst, byte(toByte[r]))
	}
	return dst, true
}
