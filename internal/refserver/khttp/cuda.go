package khttp

import (
	"encoding/base64"
	"strconv"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/refserver/shm"
)

// cudaShared answers for memory on a GPU.
func (h *Handler) cudaShared(x *exchange, region, verb string) {
	var err error
	switch {
	case verb == "status":
		h.cudaStatus(x, region)
		return
	case verb == "register":
		err = h.registerCUDA(x, region)
	case region == "":
		h.core.Shared.UnregisterAll(shm.CUDA)
	default:
		h.core.Shared.Unregister(shm.CUDA, region)
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.done(nil)
}

func (h *Handler) cudaStatus(x *exchange, region string) {
	list, err := h.core.Shared.Status(shm.CUDA, region)
	if err != nil {
		x.fail(err)
		return
	}
	b := []byte{'['}
	for i, r := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rjson.AppendString(append(b, `{"name":`...), r.Name)
		b = strconv.AppendInt(append(b, `,"device_id":`...), r.Device, 10)
		b = strconv.AppendUint(append(b, `,"byte_size":`...), r.Size, 10)
		b = append(b, '}')
	}
	x.done(append(b, ']'))
}

func (h *Handler) registerCUDA(x *exchange, region string) error {
	if region == "" {
		return bad("'region name' is necessary to register cuda shared memory region")
	}
	doc, err := x.document()
	if err != nil {
		return err
	}
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
