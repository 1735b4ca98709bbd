package httppool

import (
	"bytes"
	"context"

	"github.com/redline-bench/redline/internal/service"
)

var _ service.Previewer = (*Transport)(nil)

// Preview implements service.Previewer: the head as it is, and the body as text or as hexadecimal digits.
func (t *Transport) Preview(_ context.Context, c *service.Call) ([]byte, error) {
	head, rest, _ := t.exchange().Render(c)
	all := append(bytes.Clone(head), rest...)
	const end = "\r\n\r\n"
	i := bytes.Index(all, []byte(end))
	if i < 0 {
		return service.AppendDump(nil, all), nil
	}
	out := bytes.ReplaceAll(all[:i+len(end)], []byte("\r\n"), []byte("\n"))
	return service.AppendDump(bytes.Clone(out), all[i+len(end):]), nil
}
