// Package markdown writes foreign text, names and messages of servers for instance, into Markdown so that it neither
// breaks a table nor becomes markup.
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

// line joins lines; characters that cannot be seen are spaces.
func line(text string) string {
	const limit = 1000 // a verdict holds text of ours beside the server's
	return cleantext.Cut(text, limit)
}
