package rest

import (
	"context"
	"encoding/base64"
	"net/url"
	"strconv"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/shm"
	"github.com/redline-bench/redline/internal/tensor"
)

// Stage registers the shared memory that prepared requests refer to.
func (s *Service) Stage(ctx context.Context) error { return s.shared.Stage(ctx) }

func sharedPath(kind shm.Kind) string {
	if kind == shm.CUDA {
		return "/v2/cudasharedmemory"
	}
	return "/v2/systemsharedmemory"
}

// Register implements share.Server.
func (s *Service) Register(ctx context.Context, r *shm.Region) error {
	var b []byte
	if r.Kind() == shm.CUDA {
		b = append(b, `{"raw_handle":{"b64":"`...)
		b = base64.StdEncoding.AppendEncode(b, r.Handle())
		b = append(b, `"},"device_id":`...)
		b = strconv.AppendInt(b, int64(r.Device()), 10)
	} else {
		b = append(b, `{"key":`...)
		b = tensor.AppendQuoted(b, r.Key())
		b = append(b, `,"offset":0`...)
	}
	b = append(b, `,"byte_size":`...)
	b = strconv.AppendInt(b, int64(r.Size()), 10)
	b = append(b, '}')
	path := sharedPath(r.Kind()) + "/region/" + url.PathEscape(r.Name()) + "/register"
	_, err := s.do(ctx, call{op: kserve.OpShare, path: path, post: true, body: string(b)})
	return err
}

// UnregisterAll implements share.Server.
func (s *Service) UnregisterAll(ctx context.Context, kind shm.Kind) error {
	_, err := s.do(ctx, call{op: kserve.OpShare, path: sharedPath(kind) + "/unregister", post: true})
	return err
}

// bind is the share.Binder of this protocol.
func (s *Service) bind(req service.Request, to *share.Slot) (service.Request, []tensor.Tensor) {
	r, _ := to.Bound.(*request)
	if r == nil {
		r = &request{outputs: s.appendOutputs(nil, nil, to.Refs)}
	}
	outputs := r.outputs
	*r = *req.(*request)
	// What ends the JSON is the slot's. With an empty id the lengths are those of the request as it was prepared.
	r.rest = r.rest[:len(r.rest)-len(r.outputs)]
	r.json += len(outputs) - len(r.outputs)
	r.body += len(outputs) - len(r.outputs)
	r.outputs, r.slot, r.fixed = outputs, to, nil
	return r, r.expect
}

// appendRegion renders where a tensor in shared memory is.
func appendRegion(b []byte, ref share.Ref) []byte {
	b = append(b, `"parameters":{"shared_memory_region":`...)
	b = tensor.AppendQuoted(b, ref.Region)
	b = append(b, `,"shared_memory_byte_size":`...)
	b = strconv.AppendInt(b, int64(ref.Size), 10)
	return append(b, '}')
}
