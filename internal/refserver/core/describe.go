package core

import (
	"strconv"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/stats"
)

// ServerMetadata describes the server.
func ServerMetadata() *kserve.ServerMetadataResponse {
	return &kserve.ServerMetadataResponse{Name: Name, Version: Version, Extensions: Extensions()}
}

// ModelMetadata describes the tensors of a model.
func (c *Core) ModelMetadata(name, version string) (*kserve.ModelMetadataResponse, error) {
	m, err := c.Models.Get(name, version)
	if err != nil {
		return nil, err
	}
	d := m.Describe()
	return &kserve.ModelMetadataResponse{
		Name: m.Name(), Versions: c.Models.Versions(m.Name()), Platform: m.Platform(),
		Inputs: tensors(d.Inputs), Outputs: tensors(d.Outputs),
	}, nil
}

func tensors(list []model.Tensor) []*kserve.ModelMetadataResponse_TensorMetadata {
	out := make([]*kserve.ModelMetadataResponse_TensorMetadata, 0, len(list))
	for _, t := range list {
		out = append(out, &kserve.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape})
	}
	return out
}

// Statistics gives the counters of one model; without a name, those of all.
func (c *Core) Statistics(name, version string) (*kserve.ModelStatisticsResponse, error) {
	models := c.Models.Models()
	if name != "" {
		m, err := c.Models.Get(name, version)
		if err != nil {
			return nil, c.Models.NoStatistics(name)
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
