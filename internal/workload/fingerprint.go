package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/redline-bench/redline/internal/tensor"
)

// Fingerprint is a short hash of what makes a workload: runs with the same one can be compared.
func Fingerprint(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return short(h.Sum(nil))
}

func short(sum []byte) string { return hex.EncodeToString(sum[:8]) }

// mostHashed bounds how much input data is read for a fingerprint; past it sizes alone count.
const mostHashed = 64 << 20

// FingerprintData is the fingerprint of requests: what they are sent as, then their tensors in order.
func FingerprintData(n int, inputs func(step uint32) []tensor.Tensor, parts ...any) string {
	h := sha256.New()
	_, _ = io.WriteString(h, Fingerprint(parts...)) // a hash never fails
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
