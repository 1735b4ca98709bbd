package rest

import (
	"context"
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

// read asks for a document and returns what parse makes of it.
func read[T any](ctx context.Context, s *Service, c call, parse func(jsonscan.Value) (T, error)) (out T, err error) {
	v, err := s.do(ctx, c)
	if err != nil {
		return out, err
	}
	if out, err = parse(v); err != nil {
		return out, s.badReply(c.op, err.Error(), err)
	}
	return out, nil
}

// Metadata asks for a model's tensors.
func (s *Service) Metadata(ctx context.Context, model, version string) (*kserve.Metadata, error) {
	return read(ctx, s, call{op: kserve.OpMetadata, path: modelPath(model, version)}, kserve.ParseMetadata)
}

// Config asks for a model's configuration.
func (s *Service) Config(ctx context.Context, model, version string) (*kserve.Config, error) {
	return read(ctx, s, call{op: kserve.OpConfig, path: modelPath(model, version) + "/config"}, kserve.ParseConfig)
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
	return read(ctx, s, call{op: kserve.OpServer, path: "/v2"}, kserve.ParseServer)
}

// Models reads the index of the repository or, where the server refuses that, its list of names.
func (s *Service) Models(ctx context.Context) ([]service.ListedModel, error) {
	body, err := s.ask(ctx, call{op: kserve.OpList, path: "/v2/repository/index", post: true, body: "{}", json: true})
	parse := kserve.ParseIndex
	if kserve.Refused(err) {
		if names, nerr := s.ask(ctx, call{op: kserve.OpList, path: "/v2/models"}); nerr == nil {
			body, err, parse = names, nil, kserve.ParseNames
		}
	}
	if err != nil {
		return nil, kserve.NotListed(err)
	}
	v, err := jsonscan.Parse(body)
	if err != nil {
		return nil, s.badReply(kserve.OpList, "it is not JSON", err)
	}
	list, err := parse(v)
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
	all, err := read(ctx, s, call{op: kserve.OpStats, path: path}, kserve.ParseStats)
	if err != nil {
		return nil, err
	}
	if composed {
		all = kserve.Known(s.model, all)
	}
	if len(all) == 0 {
		return nil, &service.Error{Op: kserve.OpStats, Class: record.Protocol, Err: service.NoStatistics.With(), Addr: s.at.Addr()}
	}
	return all, nil
}
