package khttp

import (
	"net/http"

	"google.golang.org/protobuf/proto"
)

func (h *Handler) health(x *exchange, rest []string) ([]byte, error) {
	if len(rest) != 1 || rest[0] != "live" && rest[0] != "ready" {
		return nil, x.notFound()
	}
	return nil, x.allow(http.MethodGet)
}

// show answers with a message that describes the server or a model.
func (x *exchange) show(find func() (proto.Message, error)) ([]byte, error) {
	x.kind = jsonText
	if err := x.allow(http.MethodGet); err != nil {
		return nil, err
	}
	m, err := find()
	if err != nil {
		return nil, err
	}
	return appendMessage(nil, m.ProtoReflect()), nil
}

func (h *Handler) modelReady(x *exchange, name, version string) ([]byte, error) {
	if err := x.allow(http.MethodGet); err != nil {
		return nil, err
	}
	if _, err := h.core.Models.Get(name, version); err != nil {
		return nil, bad("Model version not ready")
	}
	return nil, nil
}
