package khttp

import (
	"net/http"
	"strconv"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/rjson"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (h *Handler) health(x *exchange, rest []string) {
	if len(rest) != 1 || rest[0] != "live" && rest[0] != "ready" {
		x.notFound()
		return
	}
	if x.allow(http.MethodGet) {
		x.answer(http.StatusOK, plainText, nil)
	}
}

func (h *Handler) serverMetadata(x *exchange) {
	x.kind = jsonText
	if !x.allow(http.MethodGet) {
		return
	}
	x.done(appendMessage(nil, core.ServerMetadata().ProtoReflect()))
}

func (h *Handler) modelReady(x *exchange, name, version string) {
	if !x.allow(http.MethodGet) {
		return
	}
	if _, err := h.core.Models.Get(name, version); err != nil {
		x.answer(http.StatusBadRequest, plainText, errorBody("Model version not ready"))
		return
	}
	x.answer(http.StatusOK, plainText, nil)
}

// described is the model that a request asks about; nil after the response to a request that is wrong.
func (h *Handler) described(x *exchange, name, version string) *model.Model {
	x.kind = jsonText
	if !x.allow(http.MethodGet) {
		return nil
	}
	m, err := h.core.Models.Get(name, version)
	if err != nil {
		x.fail(err)
		return nil
	}
	return m
}

func (h *Handler) modelMetadata(x *exchange, name, version string) {
	if m := h.described(x, name, version); m != nil {
		x.done(appendMessage(nil, h.core.ModelMetadata(m).ProtoReflect()))
	}
}

func appendInts(b []byte, list []int64) []byte {
	b = append(b, '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, ']')
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rjson.AppendString(b, s)
	}
	return append(b, ']')
}

func (h *Handler) modelConfig(x *exchange, name, version string) {
	if m := h.described(x, name, version); m != nil {
		x.done(appendMessage(nil, m.Config.ProtoReflect()))
	}
}

func (h *Handler) statistics(x *exchange, name, version string) {
	x.kind = jsonText
	if !x.allow(http.MethodGet) {
		return
	}
	all, err := h.core.Statistics(name, version)
	if err != nil {
		x.fail(err)
		return
	}
	x.done(appendMessage(nil, all.ProtoReflect()))
}
