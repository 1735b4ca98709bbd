package jinja

import (
	"math"
	"slices"
	"strings"
)

func compare(op string, a, b any) bool {
	switch op {
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	case "in":
		return contains(b, a)
	case "not in":
		return !contains(b, a)
	case "<":
		return order(a, b) < 0
	case ">":
		return order(a, b) > 0
	case "<=":
		return order(a, b) <= 0
	}
	return order(a, b) >= 0
}

// operate applies an operator to two values.
func operate(op string, a, b any) any {
	if op == "~" {
		return str(a) + str(b)
	}
	n, whole := b.(int)
	switch x := a.(type) {
	case string:
		y, both := b.(string)
		switch {
		case op == "+" && both:
			return x + y
		case op == "*" && whole:
			return repeat(x, n)
		case op == "%":
			return percent(x, b)
		}
	case *List:
		if y, ok := b.(*List); ok && op == "+" {
			return &List{Items: slices.Concat(x.Items, y.Items), Tuple: x.Tuple}
		}
	case int:
		if whole {
			return integers(op, x, n)
		}
		if y, ok := b.(string); ok && op == "*" {
			return repeat(y, x)
		}
	}
	x, ok1 := number(a)
	y, ok2 := number(b)
	if u, ok := a.(undefined); ok {
		fail("%q is undefined", string(u))
	}
	if !ok1 || !ok2 {
		fail("%s and %s cannot be joined with %s", typeName(a), typeName(b), op)
	}
	return floats(op, x, y)
}

func repeat(s string, n int) string {
	if n > 0 && len(s)*n > 1<<26 {
		fail("a string would be too long")
	}
	return strings.Repeat(s, max(n, 0))
}

func integers(op string, x, y int) any {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		if y >= 0 {
			n := 1
			for range min(y, 64) {
				n *= x
			}
			return n
		}
	case "//", "%":
		if y == 0 {
			fail("division by zero")
		}
		q, r := x/y, x%y
		if r != 0 && (r < 0) != (y < 0) {
			q, r = q-1, r+y
		}
		if op == "//" {
			return q
		}
		return r
	}
	return floats(op, float64(x), float64(y))
}

func floats(op string, x, y float64) any {
	if y == 0 && strings.Contains("/ // %", op) {
		fail("division by zero")
	}
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		return math.Pow(x, y)
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	}
	return x - y*math.Floor(x/y)
}
