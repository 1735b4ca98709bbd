package rest

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/redline-bench/redline/internal/service/kserve"
)

// ModelConfig implements service.Controller.
func (s *Service) ModelConfig(ctx context.Context, model string) ([]byte, error) {
	return s.ask(ctx, call{op: kserve.OpConfig, path: "/v2/models/" + url.PathEscape(model) + "/config"})
}

// LoadModel implements service.Controller.
func (s *Service) LoadModel(ctx context.Context, model string, config []byte) error {
	body := []byte("{}")
	if config != nil {
		var err error
		if body, err = json.Marshal(map[string]any{"parameters": map[string]string{"config": string(config)}}); err != nil {
			return err
		}
	}
	return s.control(ctx, kserve.OpLoad, model, "load", body)
}

// UnloadModel implements service.Controller.
func (s *Service) UnloadModel(ctx context.Context, model string) error {
	return s.control(ctx, kserve.OpUnload, model, "unload", []byte("{}"))
}

func (s *Service) control(ctx context.Context, op, model, what string, body []byte) error {
	_, err := s.ask(ctx, call{op: op, path: "/v2/repository/models/" + url.PathEscape(model) + "/" + what, post: true, body: string(body)})
	return err
}
