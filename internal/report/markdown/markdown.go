// Package markdown escapes foreign text, such as names and messages of servers, so that it neither breaks a Markdown table
// nor becomes markup.
package markdown

import (
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
)

// Cell is text for a cell of a table, on one line.
func Cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "`", "\\`").Replace(line(text))
}

// Code is text between backticks, where nothing except a backtick and a bar has a meaning.
func Code(text string) string {
	return strings.NewReplacer("`", "'", "|", "\\|").Replace(line(text))
}

// line joins lines and replaces invisible characters by spaces.
func line(text string) string {
	const limit = 1000 // a verdict has our own text besides the server's
	return cleantext.Cut(text, limit)
}
