package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Previewer is implemented by transports that can show a call as it would go on the wire.
type Previewer interface {
	// Preview returns the bytes of a call, or for a binary protocol a text that shows them. Nothing reaches the server.
	Preview(ctx context.Context, c *Call) ([]byte, error)
}

// ErrNoPreview means that a kind of server has no requests on a wire that could be shown.
var ErrNoPreview = errors.New("requests of this service kind cannot be shown")

// Preview shows a call of a service as it would go on the wire.
func Preview(ctx context.Context, s Service, c *Call) ([]byte, error) {
	tr, err := s.Open(ctx, noSink{})
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	p, ok := tr.(Previewer)
	if !ok {
		return nil, ErrNoPreview
	}
	return p.Preview(ctx, c)
}

// noSink ignores what happens to calls.
type noSink struct{}

func (noSink) Response(*Call, []byte, int64, bool) {}
func (noSink) Done(*Call)                          {}

// AppendDump appends bytes to a text: as they are where they are printable, otherwise sixteen to a line, in hexadecimal digits and as
// characters. Of many bytes it shows the first ones.
func AppendDump(dst, b []byte) []byte {
	const most, width = 4096, 16
	rest := len(b) - most
	if rest > 0 {
		b = b[:most]
	}
	if printable(b) {
		dst = append(dst, b...)
		if len(b) > 0 && b[len(b)-1] != '\n' {
			dst = append(dst, '\n')
		}
	} else {
		for i := 0; i < len(b); i += width {
			line := b[i:min(i+width, len(b))]
			dst = fmt.Appendf(dst, "%08x  %-47s  %s\n", i, fmt.Sprintf("% x", line), strings.Map(visible, string(line)))
		}
	}
	if rest > 0 {
		dst = fmt.Appendf(dst, "... %d bytes more\n", rest)
	}
	return dst
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

func visible(r rune) rune {
	if r < ' ' || r >= 0x7f {
		return '.'
	}
	return r
}
