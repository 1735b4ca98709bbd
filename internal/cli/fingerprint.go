package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/redline-bench/redline/internal/tensor"
)

// fingerprint is a short hash of what makes a workload: runs with the same one can be compared.
func fingerprint(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return short(h.Sum(nil))
}

func short(sum []byte) string { return hex.EncodeToString(sum[:8]) }

// mostHashed bounds how much input data is read for a fingerprint; past it sizes alone count.
const mostHashed = 64 << 20

// fingerprintData is the fingerprint of requests: what they are sent as, then their tensors in order.
func fingerprintData(n int, inputs func(step uint32) []tensor.Tensor, parts ...any) string {
	h := sha256.New()
	_, _ = io.WriteString(h, fingerprint(parts...)) // a hash never fails
	left := mostHashed
	for i := range n {
		for _, t := range inputs(uint32(i)) {
			fmt.Fprintf(h, "%s\x00%v\x00%v\x00%d\x00", t.Name, t.Type, t.Shape, len(t.Data))
			part := t.Data[:min(left, len(t.Data))]
			left -= len(part)
			_, _ = h.Write(part)
		}
	}
	return short(h.Sum(nil))
}

// workload is the fingerprint of what profile sends.
func (s *session) workload() string {
	t, in := &s.plan.Target, &s.plan.Input
	parts := []any{t.Kind, t.Model, t.Version, t.Endpoint, t.Streaming, in.Batch, s.plan.Load.Mode}
	if s.sessions != nil { // what a turn carries depends on the answers before it
		for _, path := range in.Paths {
			content, _ := os.ReadFile(path) // it was read before the load
			parts = append(parts, string(content))
		}
		return fingerprint(append(parts, s.sessions.Turns())...)
	}
	return fingerprintData(s.requests.Len(), s.requests.Inputs, parts...)
}
