// Package unpack limits the memory of compressed requests. A few kilobytes of gzip can decompress to gigabytes, so a budget counts
// the decompressed bytes of all requests together while they are read, and stops a reader that exceeds it.
package unpack

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Budget limits the decompressed bytes that are in memory at once. The zero value has no limit.
type Budget struct {
	limit, held atomic.Int64
}

// SetLimit sets the limit in bytes; 0 means no limit.
func (b *Budget) SetLimit(bytes int64) { b.limit.Store(bytes) }

// Held is the number of bytes in memory now.
func (b *Budget) Held() int64 { return b.held.Load() }

// Reader counts the bytes that are read from a decompressing reader. Close returns them to the budget.
func (b *Budget) Reader(from io.Reader) *Reader { return &Reader{from: from, budget: b} }

// Reader is a reader within a budget.
type Reader struct {
	from   io.Reader
	budget *Budget
	held   int64
}

// Read reads at most one byte beyond the budget and fails at the next read. A caller with a limit equal to the budget therefore
// finds the excess itself.
func (r *Reader) Read(p []byte) (int, error) {
	if limit := r.budget.limit.Load(); limit > 0 {
		left := limit - r.budget.held.Load()
		if left < 0 {
			return 0, infer.Errorf(infer.TooLarge, "%s", Refusal(limit))
		}
		p = p[:min(int64(len(p)), left+1)]
	}
	n, err := r.from.Read(p)
	r.held += int64(n)
	r.budget.held.Add(int64(n))
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // the next read returns the end, or that the last byte was one too many
	}
	return n, err
}

// Close returns the bytes to the budget. It may be called more than once.
func (r *Reader) Close() error {
	r.budget.held.Add(-r.held)
	r.held = 0
	return nil
}

// Refusal is the message to a client whose body exceeds the limit.
func Refusal(limit int64) string {
	return fmt.Sprintf("the request unpacks to more than the limit of %d bytes for all requests at a time; use --max-unpacked-size to increase it", limit)
}
