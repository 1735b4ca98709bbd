package load

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// failures groups failed requests by class and text, numbers in the text aside.
type failures struct {
	groups []*result.Failure
	index  map[string]*result.Failure
}

// maxGroups bounds how many texts are kept; the rest are counted under their class alone.
const maxGroups = 64

func (f *failures) add(s *llm.Sample) {
	class := Class(s)
	key := class + "\x00" + engine.Mask(s.Err)
	g := f.index[key]
	text := oneLine(s.Err)
	if g == nil && len(f.groups) >= maxGroups {
		key, text = class, "other failures of this class"
		g = f.index[key]
	}
	if g == nil {
		g = &result.Failure{Class: class, Text: text, Slot: int(s.Slot)}
		if f.index == nil {
			f.index = map[string]*result.Failure{}
		}
		f.index[key] = g
		f.groups = append(f.groups, g)
	}
	g.Count++
}

func (f *failures) list() []result.Failure {
	var out []result.Failure
	for _, g := range f.groups {
		out = append(out, *g)
	}
	return out
}

// Class names how a request failed. A server's refusal is named with its status.
func Class(s *llm.Sample) string {
	if s.Class == record.Server && s.Code != 0 && s.Code != 200 {
		return fmt.Sprintf("%s %d", s.Class, s.Code)
	}
	return s.Class.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
