package khttp

import (
	"net/http"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
)

// repository takes /v2/repository[/REPO]/index and /v2/repository[/REPO]/models/NAME/(load|unload).
func (h *Handler) repository(x *exchange, rest []string) ([]byte, error) {
	x.kind = jsonText
	named := false
	if len(rest) > 0 && rest[0] != "index" && rest[0] != "models" {
		named, rest = true, rest[1:]
	}
	switch {
	case len(rest) == 1 && rest[0] == "index":
		return h.repositoryIndex(x)
	case len(rest) == 3 && rest[0] == "models" && rest[1] != "" && (rest[2] == "load" || rest[2] == "unload"):
		if err := x.allow(http.MethodPost); err != nil {
			return nil, err
		}
		if named {
			return nil, infer.Errorf(infer.Unsupported, "'repository_name' specification is not supported")
		}
		return h.control(x, rest[1], rest[2] == "load")
	}
	return nil, x.notFound()
}

// document reads a JSON body; nil when there is none.
func (x *exchange) document() (*rjson.Value, error) {
	body, err := x.body()
	if err != nil || len(body) == 0 {
		return nil, err
	}
	return parseJSON(body, x.most)
}

func (h *Handler) repositoryIndex(x *exchange) ([]byte, error) {
	if err := x.allow(http.MethodPost); err != nil {
		return nil, err
	}
	doc, err := x.document()
	if err != nil {
		return nil, err
	}
	ready := false
	if v := doc.Find("ready"); v != nil {
		if v.Kind != rjson.Bool {
			return nil, bad("Invalid value for 'ready': expected a boolean")
		}
		ready = v.True
	}
	b := []byte{'['}
	for _, e := range h.core.Models.Index(ready) {
		b = rjson.AppendString(append(rjson.AppendComma(b), `{"name":`...), e.Name)
		for _, f := range []struct{ name, value string }{{"version", e.Version}, {"state", e.State}, {"reason", e.Reason}} {
			if f.value != "" {
				b = rjson.AppendString(rjson.AppendName(b, f.name), f.value)
			}
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

func (h *Handler) control(x *exchange, name string, load bool) ([]byte, error) {
	doc, err := x.document()
	if err != nil {
		return nil, err
	}
	par := doc.Find("parameters")
	if load {
		config := ""
		if v := par.Find("config"); v != nil {
			if v.Kind != rjson.String {
				return nil, infer.Errorf(infer.Internal, notString)
			}
			config = v.Text
		}
		err = h.core.Models.Load(name, config, files(par))
	} else {
		dependents := false
		if err = boolean("unload_dependents", par.Find("unload_dependents"), &dependents); err == nil {
			err = h.core.Models.Unload(name, dependents)
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, nil
}

// files lists the files that come along with a load request.
func files(par *rjson.Value) []string {
	if par == nil {
		return nil
	}
	var out []string
	for i := range par.Members {
		if file, ok := strings.CutPrefix(par.Members[i].Name, "file:"); ok {
			out = append(out, file)
		}
	}
	return out
}

// settings changes settings if the request is a POST. Then they are shown.
func (x *exchange) settings(change func(doc *rjson.Value) error) error {
	if x.req.Method != http.MethodPost {
		return x.allow(http.MethodGet)
	}
	doc, err := x.document()
	if err != nil {
		return err
	}
	return change(doc)
}

func (h *Handler) trace(x *exchange, name string) ([]byte, error) {
	x.kind = jsonText
	if name != "" {
		if _, err := h.core.Models.Get(name, ""); err != nil {
			return nil, bad("Request for unknown model : %s", name)
		}
	}
	err := x.settings(func(doc *rjson.Value) error {
		changes, err := traceChanges(doc)
		if err != nil {
			return err
		}
		return h.core.Trace.Update(name, changes)
	})
	if err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for _, s := range h.core.Trace.Get(name) {
		b = rjson.AppendName(b, s.Name)
		if s.Name == "trace_level" {
			b = rjson.AppendList(b, s.Values, rjson.AppendString)
		} else {
			b = rjson.AppendString(b, s.Values[0])
		}
	}
	return append(b, '}'), nil
}

func traceChanges(doc *rjson.Value) ([]core.Setting, error) {
	var out []core.Setting
	if doc == nil {
		return nil, nil
	}
	for i := range doc.Members {
		m := &doc.Members[i]
		s := core.Setting{Name: m.Name}
		switch m.Value.Kind {
		case rjson.Null:
		case rjson.String, rjson.Number:
			s.Values = []string{m.Value.Text}
		case rjson.Array:
			for k := range m.Value.Items {
				s.Values = append(s.Values, m.Value.Items[k].Text)
			}
		case rjson.Bool, rjson.Object:
			return nil, wrong(m.Name, notString)
		}
		out = append(out, s)
	}
	return out, nil
}

func (h *Handler) logging(x *exchange) ([]byte, error) {
	x.kind = jsonText
	err := x.settings(func(doc *rjson.Value) error {
		return h.core.Logs.Update(logChanges(doc), core.LogErrors{Kind: wrongLog, Format: func(got string) error {
			return infer.Errorf(infer.Unavailable, "invalid argument for --log_format, got: %s", got)
		}})
	})
	if err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for _, s := range h.core.Logs.Get() {
		b = appendValue(rjson.AppendName(b, s.Name), s.Value)
	}
	return append(b, '}'), nil
}

// wrongLog is the error for a log setting of the wrong kind.
func wrongLog(_ string, is any) error {
	text := notString
	switch is.(type) {
	case bool:
		text = notBool
	case uint64:
		text = notUnsigned
	}
	return infer.Errorf(infer.Internal, "%s", text)
}

func logChanges(doc *rjson.Value) []core.LogSetting {
	var out []core.LogSetting
	if doc == nil {
		return nil
	}
	for i := range doc.Members {
		s := core.LogSetting{Name: doc.Members[i].Name}
		switch v := &doc.Members[i].Value; v.Kind {
		case rjson.Bool:
			s.Value = v.True
		case rjson.String:
			s.Value = v.Text
		case rjson.Number:
			s.Value, _ = v.Uint()
		case rjson.Null, rjson.Array, rjson.Object:
		}
		out = append(out, s)
	}
	return out
}
