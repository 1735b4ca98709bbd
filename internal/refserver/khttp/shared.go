package khttp

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// memory is what differs between the kinds of shared memory.
type memory struct {
	kind     shm.Kind
	register func(region string, doc *rjson.Value) error
	describe func(b []byte, r shm.Region) []byte
}

// systemMemory is memory of the machine.
func (h *Handler) systemMemory() memory {
	return memory{kind: shm.System, register: h.registerSystem, describe: func(b []byte, r shm.Region) []byte {
		b = rjson.AppendString(append(b, `,"key":`...), r.Key)
		return strconv.AppendUint(append(b, `,"offset":`...), r.Offset, 10)
	}}
}

// cudaMemory is memory on a GPU.
func (h *Handler) cudaMemory() memory {
	return memory{kind: shm.CUDA, register: h.registerCUDA, describe: func(b []byte, r shm.Region) []byte {
		return strconv.AppendInt(append(b, `,"device_id":`...), r.Device, 10)
	}}
}

// shared takes /v2/KIND[/region/NAME]/(status|register|unregister).
func (h *Handler) shared(x *exchange, rest []string, m memory) ([]byte, error) {
	x.kind = jsonText
	region := ""
	if len(rest) == 3 && rest[0] == "region" {
		region, rest = rest[1], rest[2:]
	}
	if len(rest) != 1 {
		return nil, x.notFound()
	}
	method := http.MethodPost
	switch rest[0] {
	case "status":
		method = http.MethodGet
	case "register", "unregister":
	default:
		return nil, x.notFound()
	}
	if err := x.allow(method); err != nil {
		return nil, err
	}
	switch verb := rest[0]; {
	case verb == "status":
		return h.sharedStatus(m, region)
	case verb == "register" && region == "":
		return nil, bad("'region name' is necessary to register %s shared memory region", m.kind)
	case verb == "register":
		doc, err := x.document()
		if err != nil {
			return nil, err
		}
		return nil, m.register(region, doc)
	default:
		h.core.Shared.Unregister(m.kind, region)
	}
	return nil, nil
}

func (h *Handler) sharedStatus(m memory, region string) ([]byte, error) {
	list, err := h.core.Shared.Status(m.kind, region)
	if err != nil {
		return nil, err
	}
	b := []byte{'['}
	for _, r := range list {
		b = m.describe(rjson.AppendString(append(rjson.AppendComma(b), `{"name":`...), r.Name), r)
		b = append(strconv.AppendUint(append(b, `,"byte_size":`...), r.Size, 10), '}')
	}
	return append(b, ']'), nil
}

func (h *Handler) registerSystem(region string, doc *rjson.Value) error {
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

func (h *Handler) registerCUDA(region string, doc *rjson.Value) error {
	handle := doc.Find("raw_handle").Find("b64")
	switch {
	case handle == nil:
		return bad("Shared memory register request has no 'raw_handle' field")
	case handle.Kind != rjson.String:
		return infer.Errorf(infer.Internal, notString)
	}
	raw, err := base64.StdEncoding.DecodeString(handle.Text)
	if err != nil {
		return bad("failed to decode 'raw_handle': %v", err)
	}
	var device, size uint64
	if err := unsigned("device_id", doc.Find("device_id"), &device); err != nil {
		return err
	}
	if err := unsigned("byte_size", doc.Find("byte_size"), &size); err != nil {
		return err
	}
	return h.core.Shared.RegisterCUDA(region, raw, int64(device&0x7fffffff), size)
}
