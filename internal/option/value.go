package option

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Value is where the value of an option goes. The constructors below take a pointer to the field; what the field holds
// when the table is made is the default.
type Value struct {
	// Set stores the text of the command line; it is empty for an option without a value. The error completes the sentence
	// "--NAME ...", as in `is a number, not "x"`.
	Set     func(text string) error
	Default string   // empty is not shown
	Words   []string // values that shells offer
	// Unit is the unit of a bare number in a value that is, or contains, a time or a size: "s", "ms" or "bytes".
	Unit string
}

// In is v with the unit of a bare number in its text.
func (v Value) In(unit string) Value {
	v.Unit = unit
	return v
}

// Of is v with words that shells offer.
func (v Value) Of(words ...string) Value {
	v.Words = words
	return v
}

// Then is v with a function that is called after the text was stored. Its error refuses the text.
func (v Value) Then(next func(text string) error) Value {
	set := v.Set
	v.Set = func(text string) error {
		if err := set(text); err != nil {
			return err
		}
		return next(text)
	}
	return v
}

// Func calls set.
func Func(set func(string) error) Value { return Value{Set: set} }

// Parsed stores what parse makes of the text.
func Parsed[T any](to *T, parse func(string) (T, error)) Value {
	return Func(func(text string) (err error) {
		*to, err = parse(text)
		return err
	})
}

// Switch is on when the option is given.
func Switch(to *bool) Value { return Func(func(string) error { *to = true; return nil }) }

// SwitchOff is off when the option is given.
func SwitchOff(to *bool) Value { return Func(func(string) error { *to = false; return nil }) }

// Count counts how often the option is given.
func Count(to *int) Value { return Func(func(string) error { *to++; return nil }) }

// Ignore takes any value and does nothing.
func Ignore() Value { return Func(func(string) error { return nil }) }

// Text stores any text.
func Text(to *string) Value {
	return Value{Default: *to, Set: func(text string) error { *to = text; return nil }}
}

// Append adds the text to a list.
func Append(to *[]string) Value {
	return Func(func(text string) error { *to = append(*to, text); return nil })
}

// Int stores a whole number of at least least; math.MinInt stands for any.
func Int(to *int, least int) Value {
	return Value{Default: strconv.Itoa(*to), Set: func(text string) error {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil && least == math.MinInt:
			return fmt.Errorf("is a whole number, not %q", text)
		case err != nil || n < least:
			return fmt.Errorf("is a whole number of at least %d, not %q", least, text)
		}
		*to = n
		return nil
	}}
}

// Uint stores a whole number from 0 to most.
func Uint[T uint32 | uint64](to *T, most T) Value {
	return Value{Default: strconv.FormatUint(uint64(*to), 10), Set: func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n > uint64(most) {
			return fmt.Errorf("is a whole number from 0 to %d, not %q", most, text)
		}
		*to = T(n)
		return nil
	}}
}

// Float stores a number from low to high.
func Float(to *float64, low, high float64) Value {
	return Value{Default: strconv.FormatFloat(*to, 'g', -1, 64), Set: func(text string) error {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= low && f <= high) {
			return fmt.Errorf("is a number from %g to %g, not %q", low, high, text)
		}
		*to = f
		return nil
	}}
}

// Percent stores a percentage from 0 to most as a share: 0.03 for "3" and for "3%".
func Percent(to *float64, most float64) Value {
	return Value{Default: strconv.FormatFloat(*to*100, 'g', -1, 64) + "%", Set: func(text string) error {
		f, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
		if err != nil || !(f >= 0 && f <= most) {
			return fmt.Errorf("is a percentage from 0 to %g, not %q", most, text)
		}
		*to = f / 100
		return nil
	}}
}

// OneOf stores one of some words. The command line may write it in any case; it is stored in lower case.
func OneOf[T ~string](to *T, words ...string) Value {
	find := func(text string) int {
		return slices.IndexFunc(words, func(word string) bool { return strings.EqualFold(word, text) })
	}
	v := Value{Words: words, Set: func(text string) error {
		i := find(text)
		if i < 0 {
			return fmt.Errorf("is %s, not %q", alternatives(words), text)
		}
		*to = T(strings.ToLower(words[i]))
		return nil
	}}
	if i := find(string(*to)); i >= 0 {
		v.Default = words[i]
	}
	return v
}

// Word stores one of some words, which are written exactly so.
func Word[T ~string](to *T, words ...T) Value {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	return Value{Default: string(*to), Words: names, Set: func(text string) error {
		if !slices.Contains(names, text) {
			return fmt.Errorf("is %s, not %q", alternatives(names), text)
		}
		*to = T(text)
		return nil
	}}
}

// alternatives joins words: "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
