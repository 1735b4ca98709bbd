package khttp

import (
	"maps"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/refserver/rjson"
)

// appendParams writes free parameters in order of their names.
func appendParams(b []byte, params map[string]any) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(params)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rjson.AppendString(b, name), ':')
		b = appendValue(b, params[name])
	}
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case uint64:
		return strconv.AppendUint(b, v, 10)
	case float64:
		return rjson.AppendFloat(b, v)
	case string:
		return rjson.AppendString(b, v)
	}
	return append(b, "null"...)
}
