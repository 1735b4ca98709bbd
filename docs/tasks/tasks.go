// Package tasks holds the pages of this folder for the program: `redline help TOPIC` shows the first part of a page. The name of a
// page without its ending is the topic.
package tasks

import "embed"

// Pages are the task pages in Markdown.
//
//go:embed *.md
var Pages embed.FS
