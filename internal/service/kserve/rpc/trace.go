package rpc

import (
	"context"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service/kserve"
)

func (s *Service) readTrace(ctx context.Context) (map[string][]string, error) {
	var r pb.TraceSettingResponse
	err := s.call(ctx, kserve.OpTrace, "TraceSetting", &pb.TraceSettingRequest{}, &r)
	settings := make(map[string][]string, len(r.GetSettings()))
	for key, v := range r.GetSettings() {
		settings[key] = v.GetValue()
	}
	return settings, err
}

func (s *Service) writeTrace(ctx context.Context, settings []kserve.Setting) error {
	req := &pb.TraceSettingRequest{Settings: make(map[string]*pb.TraceSettingRequest_SettingValue, len(settings))}
	for _, t := range settings {
		req.Settings[t.Key] = &pb.TraceSettingRequest_SettingValue{Value: t.Values}
	}
	return s.call(ctx, kserve.OpTrace, "TraceSetting", req, &pb.TraceSettingResponse{})
}
