package split

import "github.com/redline-bench/redline/internal/tokenizer/chars"

// Parts of the patterns below.
const (
	fold  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	head  = `[^\r\n\p{L}\p{N}]?`
	upper = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}`
	lower = `[\p{Ll}\p{Lm}\p{Lo}\p{M}`
	noHan = `&&[^\p{Han}]]`
	tail  = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	slash = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// The patterns of common models.
const (
	GPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	CL100K = fold + `|` + head + `\p{L}+|\p{N}{1,3}` + tail // GPT-4, Llama 3
	Qwen   = fold + `|` + head + `\p{L}+|\p{N}` + tail
	O200K  = head + upper + `]*` + lower + `]+` + fold + `?|` + head + upper + `]+` + lower + `]*` + fold + `?|\p{N}{1,3}` + slash // GPT-4o
	Tekken = head + upper + `]*` + lower + `]+|` + head + upper + `]+` + lower + `]*|\p{N}` + slash                                // Mistral
	Kimi   = `[\p{Han}]+|` + head + upper + noHan + `*` + lower + noHan + `+` + fold + `?|` + head + upper + noHan + `+` + lower + noHan + `*` + fold + `?|\p{N}{1,3}` + tail

	deepseek1 = `\p{N}{1,3}`
	deepseek2 = "[一-龥\u3040-ゟ゠-ヿ]+"
	deepseek3 = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// known returns the matcher written by hand for a pattern; nil if there is none.
func known(pattern string) Words {
	switch pattern {
	case GPT2,
		`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`,
		`'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`:
		return gpt2
	case CL100K:
		return cl100k
	case Qwen:
		return qwen
	case O200K:
		return o200k
	case Tekken:
		return tekken
	case deepseek1:
		return threeDigits
	case deepseek2:
		return eastAsian
	case deepseek3:
		return deepseek
	}
	return nil
}

// Pattern makes a stage of a regular expression.
func Pattern(pattern string, b Behavior, invert bool, g *chars.Guard) (Stage, error) {
	// The matchers written by hand leave nothing out, so that cutting around matches and keeping only matches is one.
	if b == Isolated || b == Removed && invert {
		if words := known(pattern); words != nil {
			return words, nil
		}
	}
	m, err := chars.NewPattern(pattern, g)
	if err != nil {
		return nil, err
	}
	return &Split{Matcher: m, Behavior: b, Invert: invert}, nil
}
