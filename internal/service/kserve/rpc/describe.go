package rpc

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
)

// Describe asks the server for the model, after setting up its tracer where the plan says so.
func (s *Service) Describe(ctx context.Context) (*service.Model, error) {
	go setUp()
	if err := s.tracer.Set(ctx, s.target.Trace); err != nil {
		return nil, err
	}
	m, err := kserve.Describe(ctx, s, s.target)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.model = m
	s.mu.Unlock()
	return m, nil
}

// Remarks implements service.Remarker.
func (s *Service) Remarks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return kserve.Remarks(s.model, s.target.Extensions, false)
}

// setUp has the library set up the types of the answers, which it does at their first use and which takes longer than
// a server nearby does: so it is done while that is being asked.
func setUp() {
	for _, m := range [...]proto.Message{
		&pb.ModelMetadataResponse{}, &pb.ModelMetadataResponse_TensorMetadata{},
		&pb.ModelConfigResponse{}, &pb.ModelConfig{}, &pb.ModelInput{}, &pb.ModelOutput{},
		&pb.ServerMetadataResponse{}, &pb.ModelStatisticsResponse{}, &pb.ModelStatistics{}, &pb.InferStatistics{},
	} {
		_ = proto.Unmarshal(nil, m) // of nothing, which is an empty message
	}
}

// Metadata implements kserve.Source.
func (s *Service) Metadata(ctx context.Context, model, version string) (*kserve.Metadata, error) {
	var r pb.ModelMetadataResponse
	if err := s.call(ctx, kserve.OpMetadata, "ModelMetadata", &pb.ModelMetadataRequest{Name: model, Version: version}, &r); err != nil {
		return nil, err
	}
	return &kserve.Metadata{
		Name: r.GetName(), Versions: r.GetVersions(), Platform: r.GetPlatform(),
		Inputs: tensorMetadata(r.GetInputs()), Outputs: tensorMetadata(r.GetOutputs()),
	}, nil
}

func tensorMetadata(in []*pb.ModelMetadataResponse_TensorMetadata) []kserve.TensorMetadata {
	out := make([]kserve.TensorMetadata, 0, len(in))
	for _, t := range in {
		out = append(out, kserve.TensorMetadata{Name: t.GetName(), Datatype: t.GetDatatype(), Shape: t.GetShape()})
	}
	return out
}

// Config implements kserve.Source.
func (s *Service) Config(ctx context.Context, model, version string) (*kserve.Config, error) {
	var r pb.ModelConfigResponse
	if err := s.call(ctx, kserve.OpConfig, "ModelConfig", &pb.ModelConfigRequest{Name: model, Version: version}, &r); err != nil {
		return nil, err
	}
	c := r.GetConfig()
	out := &kserve.Config{
		Name:      c.GetName(),
		Platform:  c.GetPlatform(),
		MaxBatch:  int(c.GetMaxBatchSize()),
		Sequence:  c.GetSequenceBatching() != nil,
		Dynamic:   c.GetDynamicBatching() != nil,
		Decoupled: c.GetModelTransactionPolicy().GetDecoupled(),
		Cache:     c.GetResponseCache().GetEnable(),
	}
	out.QueueDelay = kserve.QueueDelay(c.GetDynamicBatching().GetMaxQueueDelayMicroseconds())
	out.SequenceIdle = kserve.SequenceIdle(c.GetSequenceBatching().GetMaxSequenceIdleMicroseconds())
	for _, in := range c.GetSequenceBatching().GetControlInput() {
		for _, ctl := range in.GetControl() {
			if ctl.GetKind() == pb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID {
				out.NumberIDs = ctl.GetDataType() != pb.DataType_TYPE_STRING
			}
		}
	}
	for _, t := range c.GetInput() {
		out.Inputs = append(out.Inputs, kserve.TensorConfig{Name: t.GetName(), Optional: t.GetOptional(), ShapeTensor: t.GetIsShapeTensor()})
	}
	for _, t := range c.GetOutput() {
		out.Outputs = append(out.Outputs, kserve.TensorConfig{Name: t.GetName(), ShapeTensor: t.GetIsShapeTensor()})
	}
	for _, st := range c.GetEnsembleScheduling().GetStep() {
		out.Steps = append(out.Steps, kserve.Step{Model: st.GetModelName(), Version: st.GetModelVersion()})
	}
	return out, nil
}

// Extensions implements kserve.Source.
func (s *Service) Extensions(ctx context.Context) ([]string, error) {
	id, err := s.Identify(ctx)
	return id.Extensions, err
}

// Identify asks the server what it is.
func (s *Service) Identify(ctx context.Context) (service.Server, error) {
	var r pb.ServerMetadataResponse
	err := s.call(ctx, kserve.OpServer, "ServerMetadata", &pb.ServerMetadataRequest{}, &r)
	return service.Server{Name: r.GetName(), Version: r.GetVersion(), Extensions: r.GetExtensions()}, err
}

// Models reads the index of the repository.
func (s *Service) Models(ctx context.Context) ([]service.ListedModel, error) {
	var r pb.RepositoryIndexResponse
	if err := s.call(ctx, kserve.OpList, "RepositoryIndex", &pb.RepositoryIndexRequest{}, &r); err != nil {
		return nil, kserve.NotListed(err)
	}
	var out []service.ListedModel
	for _, m := range r.GetModels() {
		out = append(out, service.ListedModel{Name: m.GetName(), Version: m.GetVersion(), State: kserve.State(m.GetState()), Reason: m.GetReason()})
	}
	return out, nil
}

// Stats reads the counters of the model, or of all of the models that it is made of.
func (s *Service) Stats(ctx context.Context) ([]service.ModelStats, error) {
	s.mu.Lock()
	m := s.model
	s.mu.Unlock()
	req := &pb.ModelStatisticsRequest{Name: s.target.Model, Version: s.target.Version}
	composed := m != nil && len(m.Composing) > 0
	if composed {
		req = &pb.ModelStatisticsRequest{}
	}
	var r pb.ModelStatisticsResponse
	if err := s.call(ctx, kserve.OpStats, "ModelStatistics", req, &r); err != nil {
		return nil, err
	}
	out := make([]service.ModelStats, 0, len(r.GetModelStats()))
	for _, st := range r.GetModelStats() {
		i := st.GetInferenceStats()
		out = append(out, service.ModelStats{
			Name: st.GetName(), Version: st.GetVersion(),
			InferenceCount: st.GetInferenceCount(), ExecutionCount: st.GetExecutionCount(),
			Success: tally(i.GetSuccess()), Queue: tally(i.GetQueue()),
			ComputeInput: tally(i.GetComputeInput()), ComputeInfer: tally(i.GetComputeInfer()), ComputeOutput: tally(i.GetComputeOutput()),
			CacheHit: tally(i.GetCacheHit()), CacheMiss: tally(i.GetCacheMiss()),
		})
	}
	if composed {
		out = kserve.Known(m, out)
	}
	return out, nil
}

func tally(d *pb.StatisticDuration) service.Tally {
	return service.Tally{Count: d.GetCount(), Ns: d.GetNs()}
}
