package rest

import (
	"context"
	"errors"
	"strconv"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// Stats reads the counters of the model, or of all that take part when it is made of others.
func (s *Service) Stats(ctx context.Context) ([]service.ModelStats, error) {
	path := modelPath(s.target.Model, s.target.Version) + "/stats"
	composed := s.model != nil && len(s.model.Composing) > 0
	if composed {
		path = "/v2/models/stats"
	}
	v, err := s.do(ctx, call{op: kserve.OpStats, path: path})
	if err != nil {
		return nil, err
	}
	all, err := parseStats(v)
	if err != nil {
		return nil, s.badReply(kserve.OpStats, err.Error(), err)
	}
	if composed {
		all = kserve.Known(s.model, all)
	}
	if len(all) == 0 {
		return nil, &service.Error{Op: kserve.OpStats, Class: record.Protocol, Text: "missing statistics for requested model", Addr: s.at.Addr()}
	}
	return all, nil
}

func parseStats(v jsonscan.Value) ([]service.ModelStats, error) {
	a, _ := v.Get("model_stats")
	if a.Kind() != jsonscan.Array {
		return nil, errors.New("it has no model_stats")
	}
	var out []service.ModelStats
	for e := range a.Elements() {
		p := statsReader{at: e}
		m := service.ModelStats{
			Name: text(e, "name"), Version: text(e, "version"),
			InferenceCount: p.count("inference_count"), ExecutionCount: p.count("execution_count"),
		}
		p.at, _ = e.Get("inference_stats")
		m.Success, m.Queue = p.tally("success"), p.tally("queue")
		m.ComputeInput, m.ComputeInfer, m.ComputeOutput = p.tally("compute_input"), p.tally("compute_infer"), p.tally("compute_output")
		if p.missing != "" {
			return nil, errors.New("the statistics of " + m.Name + " lack " + p.missing)
		}
		m.CacheHit, m.CacheMiss = p.tally("cache_hit"), p.tally("cache_miss") // servers before response caches have none
		out = append(out, m)
	}
	return out, nil
}

// statsReader reads members of one object and remembers the first that is missing.
type statsReader struct {
	at      jsonscan.Value
	missing string
}

func (p *statsReader) count(name string) uint64 {
	v, _ := p.at.Get(name)
	n, ok := v.Uint64()
	if v.Kind() == jsonscan.String {
		u, err := strconv.ParseUint(string(v.AppendText(nil)), 10, 64)
		n, ok = u, err == nil
	}
	if !ok && p.missing == "" {
		p.missing = name
	}
	return n
}

func (p *statsReader) tally(name string) service.Tally {
	v, _ := p.at.Get(name)
	in := statsReader{at: v}
	t := service.Tally{Count: in.count("count"), Ns: in.count("ns")}
	if in.missing != "" && p.missing == "" {
		p.missing = name + "." + in.missing
	}
	return t
}
