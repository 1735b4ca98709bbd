package khttp

import (
	"net/http"
	"strconv"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/refserver/stats"
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
	b := []byte(`{"name":`)
	b = rjson.AppendString(b, core.Name)
	b = append(b, `,"version":`...)
	b = rjson.AppendString(b, core.Version)
	b = append(b, `,"extensions":`...)
	b = appendStrings(b, core.Extensions())
	x.done(append(b, '}'))
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
	m := h.described(x, name, version)
	if m == nil {
		return
	}
	d := m.Describe()
	b := []byte(`{"name":`)
	b = rjson.AppendString(b, m.Name())
	b = append(b, `,"versions":`...)
	b = appendStrings(b, h.core.Models.Versions(name))
	b = append(b, `,"platform":`...)
	b = rjson.AppendString(b, m.Platform())
	b = append(b, `,"inputs":[`...)
	b = appendTensors(b, d.Inputs)
	b = append(b, `],"outputs":[`...)
	b = appendTensors(b, d.Outputs)
	x.done(append(b, "]}"...))
}

func appendTensors(b []byte, list []model.Tensor) []byte {
	for i, t := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = rjson.AppendString(b, t.Name)
		b = append(b, `,"datatype":`...)
		b = rjson.AppendString(b, t.Type.String())
		b = append(b, `,"shape":`...)
		b = appendInts(b, t.Shape)
		b = append(b, '}')
	}
	return b
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
	m := h.described(x, name, version)
	if m == nil {
		return
	}
	x.done(appendMessage(nil, m.Config.ProtoReflect()))
}

func (h *Handler) statistics(x *exchange, name, version string) {
	x.kind = jsonText
	if !x.allow(http.MethodGet) {
		return
	}
	models := h.core.Models.Models()
	if name != "" {
		m, err := h.core.Models.Get(name, version)
		if err != nil {
			x.fail(h.core.Models.NoStatistics(name))
			return
		}
		models = []*model.Model{m}
	}
	b := []byte(`{"model_stats":[`)
	for i, m := range models {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendStatistics(b, m)
	}
	x.done(append(b, "]}"...))
}

func appendStatistics(b []byte, m *model.Model) []byte {
	s := m.Counters.Snapshot()
	b = append(b, `{"name":`...)
	b = rjson.AppendString(b, m.Name())
	b = append(b, `,"version":`...)
	b = rjson.AppendString(b, m.VersionText())
	b = append(b, `,"last_inference":`...)
	last := int64(0)
	if !s.LastInference.IsZero() {
		last = s.LastInference.UnixMilli()
	}
	b = strconv.AppendInt(b, last, 10)
	b = append(b, `,"inference_count":`...)
	b = strconv.AppendUint(b, s.Inferences, 10)
	b = append(b, `,"execution_count":`...)
	b = strconv.AppendUint(b, s.Executions, 10)
	b = append(b, `,"inference_stats":{`...)
	b = appendDurations(b, []string{"success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"},
		[]stats.Duration{s.Success, s.Fail, s.Queue, s.ComputeInput, s.ComputeInfer, s.ComputeOutput, s.CacheHit, s.CacheMiss})
	b = append(b, `},"response_stats":{`...)
	for i, r := range s.Responses {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rjson.AppendString(b, itoa(i)), ":{"...)
		b = appendDurations(b, []string{"compute_infer", "compute_output", "success", "fail", "empty_response", "cancel"},
			[]stats.Duration{r.Infer, r.Output, r.Success, r.Fail, r.Empty, r.Cancel})
		b = append(b, '}')
	}
	b = append(b, `},"batch_stats":[`...)
	for i, e := range s.Batches {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"batch_size":`...)
		b = append(strconv.AppendInt(b, int64(e.Size), 10), ',')
		b = appendDurations(b, []string{"compute_input", "compute_infer", "compute_output"}, []stats.Duration{e.Input, e.Infer, e.Output})
		b = append(b, '}')
	}
	return append(b, `],"memory_usage":[]}`...)
}

func appendDurations(b []byte, names []string, list []stats.Duration) []byte {
	for i, d := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rjson.AppendString(b, names[i])
		b = append(b, `:{"count":`...)
		b = strconv.AppendUint(b, d.Count, 10)
		b = append(b, `,"ns":`...)
		b = strconv.AppendInt(b, int64(d.Total), 10)
		b = append(b, '}')
	}
	return b
}
