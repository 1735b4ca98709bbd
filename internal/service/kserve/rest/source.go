package rest

import (
	"context"
	"errors"
	"net/url"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

func modelPath(model, version string) string {
	p := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		p += "/versions/" + url.PathEscape(version)
	}
	return p
}

// Metadata asks for a model's tensors.
func (s *Service) Metadata(ctx context.Context, model, version string) (*kserve.Metadata, error) {
	v, err := s.do(ctx, call{op: kserve.OpMetadata, path: modelPath(model, version)})
	if err != nil {
		return nil, err
	}
	m, err := kserve.ParseMetadata(v)
	if err != nil {
		return nil, s.badReply(kserve.OpMetadata, err.Error(), nil)
	}
	return m, nil
}

// Config asks for a model's configuration.
func (s *Service) Config(ctx context.Context, model, version string) (*kserve.Config, error) {
	v, err := s.do(ctx, call{op: kserve.OpConfig, path: modelPath(model, version) + "/config"})
	if err != nil {
		return nil, err
	}
	c, err := kserve.ParseConfig(v)
	if err != nil {
		return nil, s.badReply(kserve.OpConfig, err.Error(), nil)
	}
	return c, nil
}

// Extensions asks the server what it can do.
func (s *Service) Extensions(ctx context.Context) ([]string, error) {
	v, err := s.do(ctx, call{op: kserve.OpServer, path: "/v2"})
	if err != nil {
		return nil, err
	}
	return kserve.ParseExtensions(v), nil
}

// Identify asks the server what it is.
func (s *Service) Identify(ctx context.Context) (service.Server, error) {
	v, err := s.do(ctx, call{op: kserve.OpServer, path: "/v2"})
	if err != nil {
		return service.Server{}, err
	}
	id, err := kserve.ParseServer(v)
	if err != nil {
		return id, s.badReply(kserve.OpServer, err.Error(), err)
	}
	return id, nil
}

// Models reads the index of the repository or, where the server refuses that, its list of names.
func (s *Service) Models(ctx context.Context) ([]service.ListedModel, error) {
	body, err := s.ask(ctx, call{op: kserve.OpList, path: "/v2/repository/index", post: true})
	if e, ok := errors.AsType[*service.Error](err); ok && e.Class == record.Server {
		if v, nerr := s.do(ctx, call{op: kserve.OpList, path: "/v2/models"}); nerr == nil {
			return kserve.ParseNames(v)
		}
	}
	if err != nil {
		return nil, err
	}
	v, err := jsonscan.Parse(body)
	if err != nil {
		return nil, s.badReply(kserve.OpList, "it is not JSON", err)
	}
	list, err := kserve.ParseIndex(v)
	if err != nil {
		return nil, s.badReply(kserve.OpList, err.Error(), err)
	}
	return list, nil
}

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
	all, err := kserve.ParseStats(v)
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
