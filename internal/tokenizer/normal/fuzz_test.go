package normal

import (
	"testing"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tokenizer/chars"
)

// The binary map of a SentencePiece model may point anywhere: a text then stays as it is, and stays a text.
func FuzzCharsmap(f *testing.F) {
	f.Add([]byte("\x08\x00\x00\x00\x00\x04\x00\x00\x61\x81\x00\x00b\x00"), "abc")
	f.Add([]byte("\x04\x00\x00\x00\xff\xff\xff\xff"), "e\u0301")
	f.Add([]byte("\x00\x00\x00\x00"), "a")
	f.Add([]byte("\xff\xff\xff\x7f"), "a")
	f.Fuzz(func(_ *testing.T, data []byte, text string) {
		c, err := NewCharsmap(data)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		m := &Memory{Guard: &chars.Guard{}, Room: chars.Room(len(text))}
		c.Normalize(text, m)
		(Prefixes{c}).Normalize(text, m)
	})
}
