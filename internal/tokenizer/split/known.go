package split

import (
	"github.com/redline-bench/redline/internal/tokenizer/rx"
	"github.com/redline-bench/redline/internal/tokenizer/unitab"
)

// known are the patterns that have a matcher written by hand.
func known(pattern string) func(*unitab.Tables, string, int) int {
	const (
		fold   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
		head   = `[^\r\n\p{L}\p{N}]?`
		tail   = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
		slashy = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
		up     = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
		low    = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	)
	switch pattern {
	case `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
		`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
		`'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`:
		return gpt2
	case fold + `|` + head + `\p{L}+|\p{N}{1,3}` + tail:
		return cl100k
	case fold + `|` + head + `\p{L}+|\p{N}` + tail:
		return qwen
	case head + up + `*` + low + `+` + fold + `?|` + head + up + `+` + low + `*` + fold + `?|\p{N}{1,3}` + slashy:
		return o200k
	case head + up + `*` + low + `+|` + head + up + `+` + low + `*|\p{N}` + slashy:
		return tekken
	}
	return nil
}

// Pattern makes a stage of a regular expression.
func Pattern(pattern string, b Behavior, invert bool) (Stage, error) {
	// The matchers written by hand leave nothing out, so that cutting around matches and keeping only matches is one.
	if b == Isolated || b == Removed && invert {
		if next := known(pattern); next != nil {
			return &Words{Next: next, Table: unitab.Get()}, nil
		}
	}
	re, err := rx.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Split{Matcher: re, Behavior: b, Invert: invert}, nil
}

// GPT2 is the stage of the ByteLevel pre-tokenizer.
func GPT2() Stage { return &Words{Next: gpt2, Table: unitab.Get()} }

// CL100K is the stage of GPT-4 and Llama 3.
func CL100K() Stage { return &Words{Next: cl100k, Table: unitab.Get()} }

// O200K is the stage of GPT-4o.
func O200K() Stage { return &Words{Next: o200k, Table: unitab.Get()} }

// Qwen is the stage of Qwen.
func Qwen() Stage { return &Words{Next: qwen, Table: unitab.Get()} }
