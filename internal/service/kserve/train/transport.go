package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// opInfer is what failed calls were doing.
const opInfer = "infer"

// transport carries trains. Slots go round its connections.
type transport struct {
	svc    *Service
	sink   service.Sink
	ctx    context.Context // ends with Close; the streams hang on it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	growing sync.Mutex
	conns   []*grpc.ClientConn
	slots   atomic.Pointer[[]*slot] // replaced, never changed
}

// Grow makes the slots below n usable. Connections are made when the first train needs them.
func (t *transport) Grow(ctx context.Context, n int) error {
	t.growing.Lock()
	defer t.growing.Unlock()
	for len(t.conns) < max(1, t.svc.target.Connections) {
		conn, err := grpc.NewClient("passthrough:///"+t.svc.target.URL, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return fmt.Errorf("connect to %s: %w", t.svc.target.URL, err)
		}
		t.conns = append(t.conns, conn)
	}
	slots := append([]*slot(nil), *t.slots.Load()...)
	for i := len(slots); i < n; i++ {
		slots = append(slots, &slot{t: t, api: pb.NewGRPCInferenceServiceClient(t.conns[i%len(t.conns)])})
	}
	t.slots.Store(&slots)
	return ctx.Err()
}

// Lane gives each slot its own.
func (t *transport) Lane(i int) int { return i }

// Send lets a train leave.
func (t *transport) Send(c *service.Call) { (*t.slots.Load())[c.Slot].send(c) }

// Flush does nothing: trains leave at once.
func (t *transport) Flush() {}

// Cut ends the call in flight together with its stream.
func (t *transport) Cut(i int, class record.Class) {
	text := "the request was canceled"
	if class == record.Timeout {
		text = "Deadline Exceeded"
	}
	(*t.slots.Load())[i].cut(&service.Error{Op: opInfer, Class: class, Text: text})
}

// Close cuts everything and waits.
func (t *transport) Close() error {
	t.growing.Lock()
	defer t.growing.Unlock()
	for i := range *t.slots.Load() {
		t.Cut(i, record.Canceled)
	}
	t.cancel()
	t.wg.Wait()
	var err error
	for _, c := range t.conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// failure turns an error of the library into one of the service.
func (t *transport) failure(err error) *service.Error {
	s := status.Convert(err)
	e := &service.Error{Op: opInfer, Class: record.Server, Code: int(s.Code()), Text: service.Said(s.Message()), Addr: t.svc.target.URL, Err: err}
	switch {
	case errors.Is(err, errEnded):
		e.Class, e.Text = record.Transport, err.Error()
	case s.Code() == codes.Unavailable && strings.Contains(s.Message(), "dial"):
		e.Class = record.Connect
	case s.Code() == codes.Unavailable, s.Code() == codes.Unknown && !isStatus(err):
		e.Class = record.Transport
	case s.Code() == codes.Canceled:
		e.Class = record.Canceled
	}
	return e
}

func isStatus(err error) bool {
	_, ok := status.FromError(err)
	return ok
}
