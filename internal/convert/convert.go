// Package convert makes one list out of another.
package convert

import "slices"

// All returns what f makes of each element of a list, in the same order; nil for an empty list.
func All[From, To any](list []From, f func(From) To) []To {
	out := slices.Grow([]To(nil), len(list))
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}
