package rest

import (
	"context"

	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

const tracePath = "/v2/trace/setting"

// setTrace applies the plan's trace settings once, and remembers those in force before.
func (s *Service) setTrace(ctx context.Context) error {
	want := kserve.TraceSettings(s.target.Trace)
	if len(want) == 0 || s.undo != nil {
		return nil
	}
	v, err := s.do(ctx, call{op: kserve.OpTrace, path: tracePath, plain: true})
	if err != nil {
		return err
	}
	before := map[string][]string{}
	for name, m := range v.Members() {
		values := []string{string(m.AppendText(nil))}
		if m.Kind() == jsonscan.Array {
			values = nil
			for e := range m.Elements() {
				values = append(values, string(e.AppendText(nil)))
			}
		}
		before[string(name.AppendText(nil))] = values
	}
	if err := s.postTrace(ctx, want); err != nil {
		return err
	}
	s.undo = kserve.Restore(want, before)
	return nil
}

func (s *Service) restoreTrace(ctx context.Context) error {
	undo := s.undo
	s.undo = nil
	if len(undo) == 0 {
		return nil
	}
	return s.postTrace(ctx, undo)
}

func (s *Service) postTrace(ctx context.Context, settings []kserve.Setting) error {
	b := []byte{'{'}
	for i, t := range settings {
		if i > 0 {
			b = append(b, ',')
		}
		b = tensor.AppendQuoted(b, t.Key)
		b = append(b, ':')
		if t.Key != kserve.LevelKey {
			b = tensor.AppendQuoted(b, t.Values[0])
			continue
		}
		b = append(b, '[')
		for j, v := range t.Values {
			if j > 0 {
				b = append(b, ',')
			}
			b = tensor.AppendQuoted(b, v)
		}
		b = append(b, ']')
	}
	b = append(b, '}')
	_, err := s.do(ctx, call{op: kserve.OpTrace, path: tracePath, post: true, body: string(b), plain: true})
	return err
}
