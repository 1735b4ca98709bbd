package jinja

import "strings"

// test is a test of a value.
type test func(v any, a *arguments) bool

// kind makes a test of a type.
func kind[T any](v any, _ *arguments) bool { return is[T](v) }

// comparing makes a test of an operator.
func comparing(op string) test {
	return func(v any, a *arguments) bool { return compare(op, v, a.get(0, "other", nil)) }
}

// tests are the tests by their names.
func tests() map[string]test {
	divisible := func(v any, by int) bool {
		n, _ := v.(int)
		if by == 0 {
			fail("division by zero")
		}
		return n%by == 0
	}
	sequence := func(v any, _ *arguments) bool { return is[string](v) || is[*List](v) || is[*Dict](v) }
	t := map[string]test{
		"defined":     func(v any, _ *arguments) bool { return !is[undefined](v) },
		"undefined":   kind[undefined],
		"none":        func(v any, _ *arguments) bool { return v == nil },
		"string":      kind[string],
		"mapping":     kind[*Dict],
		"boolean":     kind[bool],
		"integer":     kind[int],
		"float":       kind[float64],
		"callable":    kind[function],
		"true":        func(v any, _ *arguments) bool { return v == true },
		"false":       func(v any, _ *arguments) bool { return v == false },
		"number":      func(v any, _ *arguments) bool { _, ok := number(v); return ok },
		"sequence":    sequence,
		"iterable":    func(v any, a *arguments) bool { return sequence(v, a) || is[undefined](v) },
		"even":        func(v any, _ *arguments) bool { return divisible(v, 2) },
		"odd":         func(v any, _ *arguments) bool { return !divisible(v, 2) },
		"divisibleby": func(v any, a *arguments) bool { return divisible(v, typed(a, 0, "num", 0)) },
		"lower":       func(v any, _ *arguments) bool { return str(v) == strings.ToLower(str(v)) },
		"upper":       func(v any, _ *arguments) bool { return str(v) == strings.ToUpper(str(v)) },
		"in":          func(v any, a *arguments) bool { return contains(a.get(0, "seq", undefined("")), v) },
		"sameas": func(v any, a *arguments) bool {
			other := a.get(0, "other", nil)
			return equal(v, other) && typeName(v) == typeName(other)
		},
	}
	for op, names := range map[string]string{
		"==": "== eq equalto", "!=": "!= ne", "<": "< lt lessthan", ">": "> gt greaterthan", "<=": "<= le", ">=": ">= ge",
	} {
		for name := range strings.FieldsSeq(names) {
			t[name] = comparing(op)
		}
	}
	return t
}
