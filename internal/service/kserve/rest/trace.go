package rest

import (
	"context"

	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

const tracePath = "/v2/trace/setting"

func (s *Service) readTrace(ctx context.Context) (map[string][]string, error) {
	v, err := s.do(ctx, call{op: kserve.OpTrace, path: tracePath, plain: true})
	settings := map[string][]string{}
	for name, m := range v.Members() {
		values := []string{string(m.AppendText(nil))}
		if m.Kind() == jsonscan.Array {
			values = nil
			for e := range m.Elements() {
				values = append(values, string(e.AppendText(nil)))
			}
		}
		settings[string(name.AppendText(nil))] = values
	}
	return settings, err
}

func (s *Service) writeTrace(ctx context.Context, settings []kserve.Setting) error {
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
