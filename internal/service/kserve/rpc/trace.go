package rpc

import (
	"context"
	"time"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service/kserve"
)

// closeWait is how long Close waits for the server to take its trace settings back.
const closeWait = 5 * time.Second

// setTrace applies the plan's trace settings once, and remembers those in force before.
func (s *Service) setTrace(ctx context.Context) error {
	want := kserve.TraceSettings(s.target.Trace)
	if len(want) == 0 || s.undo != nil {
		return nil
	}
	var r pb.TraceSettingResponse
	if err := s.call(ctx, kserve.OpTrace, "TraceSetting", &pb.TraceSettingRequest{}, &r); err != nil {
		return err
	}
	before := make(map[string][]string, len(r.GetSettings()))
	for key, v := range r.GetSettings() {
		before[key] = v.GetValue()
	}
	if err := s.postTrace(ctx, want); err != nil {
		return err
	}
	s.undo = kserve.Restore(want, before)
	return nil
}

// restoreTrace puts back what setTrace changed.
func (s *Service) restoreTrace() error {
	undo := s.undo
	s.undo = nil
	if len(undo) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return s.postTrace(ctx, undo)
}

func (s *Service) postTrace(ctx context.Context, settings []kserve.Setting) error {
	req := &pb.TraceSettingRequest{Settings: make(map[string]*pb.TraceSettingRequest_SettingValue, len(settings))}
	for _, t := range settings {
		req.Settings[t.Key] = &pb.TraceSettingRequest_SettingValue{Value: t.Values}
	}
	return s.call(ctx, kserve.OpTrace, "TraceSetting", req, &pb.TraceSettingResponse{})
}
