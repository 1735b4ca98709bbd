// Package cleantext makes text from servers and files fit to be shown. Such text may hold escape sequences for a
// terminal, line breaks that forge other lines of a report, or megabytes.
package cleantext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limit is how many characters of a text are shown. The whole text is in the file of --json.
const Limit = 300

// Line returns a text as one line of at most Limit characters: control characters, line breaks and invisible marks of
// direction become spaces, and runs of spaces become one.
func Line(text string) string { return Cut(text, Limit) }

// Cut is Line with a limit of its own.
func Cut(text string, limit int) string {
	// A character has at most four bytes, and what is dropped may be most of the text: look at no more than needed.
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		if hidden(r) {
			space = n > 0
			continue
		}
		if n >= limit {
			b.WriteString("...")
			break
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// hidden tells whether a character is a space, or is not seen: control characters, and marks that reorder text.
func hidden(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.C, r) || r == utf8.RuneError
}

// Block returns a text of several lines without control characters, except line breaks and tabs, and with at most limit
// characters.
func Block(text string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.Is(unicode.C, r) || r == utf8.RuneError) {
			continue
		}
		if n++; n > limit {
			b.WriteString("...")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
