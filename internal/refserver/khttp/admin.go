package khttp

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/core"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// repository takes /v2/repository[/REPO]/index and /v2/repository[/REPO]/models/NAME/(load|unload).
func (h *Handler) repository(x *exchange, rest []string) {
	x.kind = jsonText
	named := false
	if len(rest) > 0 && rest[0] != "index" && rest[0] != "models" {
		named, rest = true, rest[1:]
	}
	switch {
	case len(rest) == 1 && rest[0] == "index":
		h.repositoryIndex(x)
	case len(rest) == 3 && rest[0] == "models" && rest[1] != "" && (rest[2] == "load" || rest[2] == "unload"):
		if !x.allow(http.MethodPost) {
			return
		}
		if named {
			x.fail(infer.Errorf(infer.Unsupported, "'repository_name' specification is not supported"))
			return
		}
		h.control(x, rest[1], rest[2] == "load")
	default:
		x.notFound()
	}
}

// document reads a JSON body; nil when there is none.
func (x *exchange) document() (*rjson.Value, error) {
	body, err := x.body()
	if err != nil || len(body) == 0 {
		return nil, err
	}
	return parseJSON(body)
}

func (h *Handler) repositoryIndex(x *exchange) {
	if !x.allow(http.MethodPost) {
		return
	}
	doc, err := x.document()
	if err != nil {
		x.fail(err)
		return
	}
	ready := false
	if v := doc.Find("ready"); v != nil {
		if v.Kind != rjson.Bool {
			x.fail(bad("Invalid value for 'ready': expected a boolean"))
			return
		}
		ready = v.True
	}
	b := []byte{'['}
	for i, e := range h.core.Models.Index(ready) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = rjson.AppendString(b, e.Name)
		for _, f := range []struct{ name, value string }{{"version", e.Version}, {"state", e.State}, {"reason", e.Reason}} {
			if f.value != "" {
				b = append(append(append(b, `,"`...), f.name...), `":`...)
				b = rjson.AppendString(b, f.value)
			}
		}
		b = append(b, '}')
	}
	x.done(append(b, ']'))
}

func (h *Handler) control(x *exchange, name string, load bool) {
	doc, err := x.document()
	if err != nil {
		x.fail(err)
		return
	}
	par := doc.Find("parameters")
	if load {
		config := ""
		if v := par.Find("config"); v != nil {
			if v.Kind != rjson.String {
				x.fail(infer.Errorf(infer.Internal, notString))
				return
			}
			config = v.Text
		}
		var files []string
		if par != nil {
			for _, m := range par.Members {
				if file, ok := strings.CutPrefix(m.Name, "file:"); ok {
					files = append(files, file)
				}
			}
		}
		err = h.core.Models.Load(name, config, files)
	} else {
		dependents := false
		if err = boolean("unload_dependents", par.Find("unload_dependents"), &dependents); err == nil {
			err = h.core.Models.Unload(name, dependents)
		}
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.done(nil)
}

// shared takes /v2/KIND[/region/NAME]/(status|register|unregister).
func (h *Handler) shared(x *exchange, rest []string, do func(x *exchange, region, verb string)) {
	x.kind = jsonText
	region := ""
	if len(rest) == 3 && rest[0] == "region" {
		region, rest = rest[1], rest[2:]
	}
	if len(rest) != 1 {
		x.notFound()
		return
	}
	method := http.MethodPost
	switch rest[0] {
	case "status":
		method = http.MethodGet
	case "register", "unregister":
	default:
		x.kind = plainText
		x.notFound()
		return
	}
	if x.allow(method) {
		do(x, region, rest[0])
	}
}

func (h *Handler) systemShared(x *exchange, region, verb string) {
	var err error
	switch verb {
	case "status":
		h.sharedStatus(x, region)
		return
	case "register":
		err = h.registerShared(x, region)
	default:
		if region == "" {
			h.core.Shared.UnregisterAll(shm.System)
		} else {
			h.core.Shared.Unregister(shm.System, region)
		}
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.done(nil)
}

func (h *Handler) sharedStatus(x *exchange, region string) {
	list, err := h.core.Shared.Status(shm.System, region)
	if err != nil {
		x.fail(err)
		return
	}
	b := []byte{'['}
	for i, r := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = rjson.AppendString(b, r.Name)
		b = append(b, `,"key":`...)
		b = rjson.AppendString(b, r.Key)
		b = strconv.AppendUint(append(b, `,"offset":`...), r.Offset, 10)
		b = strconv.AppendUint(append(b, `,"byte_size":`...), r.Size, 10)
		b = append(b, '}')
	}
	x.done(append(b, ']'))
}

func (h *Handler) registerShared(x *exchange, region string) error {
	if region == "" {
		return bad("'region name' is necessary to register system shared memory region")
	}
	doc, err := x.document()
	if err != nil {
		return err
	}
	key, size := doc.Find("key"), doc.Find("byte_size")
	switch {
	case key == nil:
		return bad("Shared memory register request has no 'key' field")
	case key.Kind != rjson.String:
		return infer.Errorf(infer.Internal, notString)
	case size == nil:
		return bad("Shared memory register request has no 'byte_size' field")
	}
	var offset, length uint64
	if err := unsigned("offset", doc.Find("offset"), &offset); err != nil {
		return err
	}
	if err := unsigned("byte_size", size, &length); err != nil {
		return err
	}
	return h.core.Shared.Register(region, key.Text, offset, length)
}

func (h *Handler) trace(x *exchange, name string) {
	x.kind = jsonText
	if name != "" {
		if _, err := h.core.Models.Get(name, ""); err != nil {
			x.fail(bad("Request for unknown model : %s", name))
			return
		}
	}
	switch x.req.Method {
	case http.MethodGet:
	case http.MethodPost:
		doc, err := x.document()
		if err == nil {
			var changes []core.Setting
			if changes, err = traceChanges(doc); err == nil {
				err = h.core.Trace.Update(name, changes)
			}
		}
		if err != nil {
			x.fail(err)
			return
		}
	default:
		x.allow(http.MethodGet)
		return
	}
	b := []byte{'{'}
	for i, s := range h.core.Trace.Get(name) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rjson.AppendString(b, s.Name), ':')
		if s.Name == "trace_level" {
			b = appendStrings(b, s.Values)
		} else {
			b = rjson.AppendString(b, s.Values[0])
		}
	}
	x.done(append(b, '}'))
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

func (h *Handler) logging(x *exchange) {
	x.kind = jsonText
	switch x.req.Method {
	case http.MethodGet:
	case http.MethodPost:
		doc, err := x.document()
		if err == nil {
			err = h.core.Logs.Update(logChanges(doc), core.LogErrors{Kind: wrongLog, Format: func(got string) error {
				return infer.Errorf(infer.Unavailable, "invalid argument for --log_format, got: %s", got)
			}})
		}
		if err != nil {
			x.fail(err)
			return
		}
	default:
		x.allow(http.MethodGet)
		return
	}
	b := []byte{'{'}
	for i, s := range h.core.Logs.Get() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rjson.AppendString(b, s.Name), ':')
		b = appendValue(b, s.Value)
	}
	x.done(append(b, '}'))
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
