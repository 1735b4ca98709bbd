package http2pool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/redline-bench/redline/internal/service"
)

var _ service.Previewer = (*Transport)(nil)

// Preview implements service.Previewer. It sends the call over a connection to this process, and shows the header fields and the
// message that came.
func (t *Transport) Preview(ctx context.Context, c *service.Call) ([]byte, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	type request struct {
		text []byte
		err  error
	}
	seen := make(chan request, 1)
	go func() {
		text, err := readRequest(l)
		seen <- request{text, err}
	}()
	cfg := t.cfg
	cfg.Addr, cfg.TLS, cfg.Connections, cfg.LazyDial = l.Addr().String(), nil, 1, false
	to, err := New(ctx, cfg, t.sink, t.sender)
	if err != nil {
		return nil, err
	}
	defer to.Close()
	if err := to.Grow(ctx, 1); err != nil {
		return nil, err
	}
	to.Send(c)
	to.Flush()
	select {
	case r := <-seen:
		return r.text, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readRequest reads one request of the first connection.
func readRequest(l net.Listener) ([]byte, error) {
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return nil, err
	}
	f := http2.NewFramer(conn, conn)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.SetMaxReadFrameSize(1 << 24)
	const window = 1<<31 - 1 - 65535
	err = errors.Join(f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}), f.WriteWindowUpdate(0, window))
	if err != nil {
		return nil, err
	}
	var head, body []byte
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				err = f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			for _, h := range frame.Fields {
				head = fmt.Appendf(head, "%s: %s\n", h.Name, h.Value)
			}
			if frame.StreamEnded() {
				return head, nil
			}
		case *http2.DataFrame:
			body = append(body, frame.Data()...)
			if frame.StreamEnded() || whole(head, body) {
				return service.AppendDump(append(head, '\n'), body), nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// whole tells whether the first message of a gRPC stream, which stays open, is complete.
func whole(head, body []byte) bool {
	const prefix = 5 // a flag, and the length
	return strings.Contains(string(head), "content-type: application/grpc") && len(body) >= prefix &&
		len(body)-prefix >= int(binary.BigEndian.Uint32(body[1:]))
}
