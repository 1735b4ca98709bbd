package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/result"
)

// Form is the layout of JSON.
type Form bool

// The forms.
const (
	Indented Form = false
	Compact  Form = true
)

// WriteFile writes the result to a file of --json; no path writes nothing.
func WriteFile(files *pending.Output, path string, res *result.Result) error {
	if path == "" {
		return nil
	}
	content, err := Encode(res, Indented)
	if err != nil {
		return err
	}
	return files.WriteFile(path, content)
}

// Encode returns the JSON of a result without its secrets.
func Encode(res *result.Result, form Form) ([]byte, error) {
	var b bytes.Buffer
	err := WriteJSON(&b, res.Public(), form)
	return b.Bytes(), err
}

// WriteJSON writes the whole result. JSON has no NaN and no infinity; such a value, for example a rate over no time, is
// written as 0.
func WriteJSON(w io.Writer, r *result.Result, form Form) error {
	data, err := encode(r, form)
	if _, bad := errors.AsType[*json.UnsupportedValueError](err); bad {
		data, err = encode(finite(reflect.ValueOf(r)).Interface(), form)
	}
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

func encode(v any, form Form) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if form == Indented {
		e.SetIndent("", "  ")
	}
	err := e.Encode(v)
	return b.Bytes(), err
}

// finite returns a deep copy of v in which NaN and infinities are 0.
func finite(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			out.SetFloat(0)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(finite(v.Elem()))
			out.Set(p)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(finite(v.Field(i)))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(finite(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMap(v.Type()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), finite(it.Value()))
			}
		}
	default: // other kinds need no change
	}
	return out
}
