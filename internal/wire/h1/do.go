package h1

import (
	"bytes"
	"context"

	"github.com/redline-bench/redline/internal/wire"
)

// Do writes one request and waits for its reply; the end of ctx breaks the connection. The reply is a copy,
// so this is for the calls around a load, not for the load itself.
func (c *Conn) Do(ctx context.Context, head, body []byte) (*wire.Reply, error) {
	defer context.AfterFunc(ctx, c.Break)()
	var o once
	o.c = c
	werr := c.Write(head, body)
	err := c.Serve(&o) // also after a failed write: a server that refuses a request early may have said why
	switch {
	case o.reply != nil:
		return o.reply, nil
	case werr != nil:
		return nil, werr
	}
	return nil, err
}

// once takes a single reply.
type once struct {
	c     *Conn
	reply *wire.Reply
}

func (o *once) Head(*wire.Reply) bool { return false }

func (o *once) Data([]byte, int64) {}

func (o *once) Reply(r *wire.Reply) {
	cp := *r
	cp.Framed, cp.Type, cp.Encoding = bytes.Clone(r.Framed), bytes.Clone(r.Type), bytes.Clone(r.Encoding)
	cp.Retry = bytes.Clone(r.Retry)
	cp.Body = cp.Framed[wire.Room:]
	o.reply = &cp
	o.c.Stop()
}
