package kgrpc

import (
	"context"
	"strconv"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/stats"
)

// ModelStatistics gives the counters of one model, or of all.
func (s *Service) ModelStatistics(_ context.Context, r *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	models := s.core.Models.Models()
	if r.GetName() != "" {
		m, err := s.core.Models.Get(r.GetName(), r.GetVersion())
		if err != nil {
			return nil, failure(s.core.Models.NoStatistics(r.GetName()))
		}
		models = []*model.Model{m}
	}
	out := &kserve.ModelStatisticsResponse{}
	for _, m := range models {
		out.ModelStats = append(out.ModelStats, statistics(m))
	}
	return out, nil
}

func statistics(m *model.Model) *kserve.ModelStatistics {
	s := m.Counters.Snapshot()
	out := &kserve.ModelStatistics{
		Name: m.Name(), Version: m.VersionText(), InferenceCount: s.Inferences, ExecutionCount: s.Executions,
		InferenceStats: &kserve.InferStatistics{
			Success: duration(s.Success), Fail: duration(s.Fail), Queue: duration(s.Queue),
			ComputeInput: duration(s.ComputeInput), ComputeInfer: duration(s.ComputeInfer), ComputeOutput: duration(s.ComputeOutput),
			CacheHit: duration(s.CacheHit), CacheMiss: duration(s.CacheMiss),
		},
	}
	if !s.LastInference.IsZero() {
		out.LastInference = uint64(s.LastInference.UnixMilli())
	}
	for _, b := range s.Batches {
		out.BatchStats = append(out.BatchStats, &kserve.InferBatchStatistics{
			BatchSize: uint64(b.Size), ComputeInput: duration(b.Input), ComputeInfer: duration(b.Infer), ComputeOutput: duration(b.Output),
		})
	}
	for i, r := range s.Responses {
		if out.ResponseStats == nil {
			out.ResponseStats = map[string]*kserve.InferResponseStatistics{}
		}
		out.ResponseStats[strconv.Itoa(i)] = &kserve.InferResponseStatistics{
			ComputeInfer: duration(r.Infer), ComputeOutput: duration(r.Output), Success: duration(r.Success),
			Fail: duration(r.Fail), EmptyResponse: duration(r.Empty), Cancel: duration(r.Cancel),
		}
	}
	return out
}

func duration(d stats.Duration) *kserve.StatisticDuration {
	return &kserve.StatisticDuration{Count: d.Count, Ns: uint64(d.Total)}
}
