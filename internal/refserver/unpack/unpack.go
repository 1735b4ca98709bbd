// Package unpack limits the memory that packed requests can take. A few kilobytes of gzip unpack to gigabytes, so a budget
// counts the unpacked bytes of all requests together, while they are read, and stops a reader that exceeds it.
package unpack

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Budget is how many unpacked bytes may be held at a time. The zero value has no limit.
type Budget struct {
	limit, held atomic.Int64
}

// SetLimit sets the limit in bytes; 0 means no limit.
func (b *Budget) SetLimit(bytes int64) { b.limit.Store(bytes) }

// Held is how many bytes are held now.
func (b *Budget) Held() int64 { return b.held.Load() }

// Reader counts the bytes that are read from an unpacking reader. Close gives them back to the budget.
func (b *Budget) Reader(from io.Reader) *Reader { return &Reader{from: from, budget: b} }

// Reader is a reader within a budget.
type Reader struct {
	from   io.Reader
	budget *Budget
	held   int64
}

// Read reads at most one byte beyond the budget and fails at the read after that. So a caller with a limit of its own
// that equals the budget's finds the excess itself.
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
		err = nil // the next read tells the end, or that the last byte was one too many
	}
	return n, err
}

// Close gives the bytes back. It may be called more than once.
func (r *Reader) Close() error {
	r.budget.held.Add(-r.held)
	r.held = 0
	return nil
}

// Refusal is what a client is told whose body does not fit.
func Refusal(limit int64) string {
	return fmt.Sprintf("the request unpacks to more than the limit of %d bytes for all requests at a time; use --max-unpacked-size to increase it", limit)
}
