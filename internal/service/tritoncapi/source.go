//go:build native && cgo && linux

package tritoncapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// anyVersion lets the server choose.
const anyVersion = -1

// version is the number that the C API wants. Without one it is version 1; where that one is not
// loaded, the server chooses.
func (s *Service) version(model, version string) int64 {
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		return n
	}
	if ready, err := s.server.modelReady(model, 1); err == nil && ready {
		return 1
	}
	return anyVersion
}

// query asks for a document.
func (s *Service) query(op string, q question, model string, version int64) (jsonscan.Value, error) {
	text, err := s.server.ask(q, model, version)
	if err != nil {
		return nil, &service.Error{Op: op, Class: record.Server, Text: err.Error()}
	}
	v, err := jsonscan.Parse(text)
	if err != nil {
		return nil, malformed(op, err)
	}
	return v, nil
}

func malformed(op string, err error) *service.Error {
	return &service.Error{Op: op, Class: record.Protocol, Text: fmt.Sprintf("malformed answer to %s from Triton: %v", op, err), Err: err}
}

// Metadata asks for a model's tensors.
func (s *Service) Metadata(_ context.Context, model, version string) (*kserve.Metadata, error) {
	v, err := s.query(kserve.OpMetadata, modelMetadata, model, s.version(model, version))
	if err != nil {
		return nil, err
	}
	m, err := kserve.ParseMetadata(v)
	if err != nil {
		return nil, malformed(kserve.OpMetadata, err)
	}
	return m, nil
}

// Config asks for a model's configuration.
func (s *Service) Config(_ context.Context, model, version string) (*kserve.Config, error) {
	v, err := s.query(kserve.OpConfig, modelConfig, model, s.version(model, version))
	if err != nil {
		return nil, err
	}
	c, err := kserve.ParseConfig(v)
	if err != nil {
		return nil, malformed(kserve.OpConfig, err)
	}
	return c, nil
}

// Extensions asks the server what it can do.
func (s *Service) Extensions(context.Context) ([]string, error) {
	v, err := s.query(kserve.OpServer, serverMetadata, "", anyVersion)
	if err != nil {
		return nil, err
	}
	return kserve.ParseExtensions(v), nil
}

// reason is why a model is not available, in Triton's words; empty where Triton has none.
func (s *Service) reason(model string) string {
	index, err := s.query(kserve.OpMetadata, modelIndex, "", anyVersion)
	if err != nil {
		return ""
	}
	for m := range index.Elements() {
		if name, _ := m.Get("name"); string(name.AppendText(nil)) == model {
			why, _ := m.Get("reason")
			return strings.TrimSpace(string(why.AppendText(nil)))
		}
	}
	return fmt.Sprintf("there is no model %q in the repository", model)
}

// Stats reads the counters of the model, or of all that take part when it is made of others.
func (s *Service) Stats(context.Context) ([]service.ModelStats, error) {
	model, version := s.target.Model, s.version(s.target.Model, s.target.Version)
	composed := s.model != nil && len(s.model.Composing) > 0
	if composed {
		model, version = "", anyVersion
	}
	v, err := s.query(kserve.OpStats, modelStats, model, version)
	if err != nil {
		return nil, err
	}
	all, err := kserve.ParseStats(v)
	if err != nil {
		return nil, malformed(kserve.OpStats, err)
	}
	if composed {
		all = kserve.Known(s.model, all)
	}
	if len(all) == 0 {
		return nil, &service.Error{Op: kserve.OpStats, Class: record.Protocol, Err: service.NoStatistics.With()}
	}
	return all, nil
}
