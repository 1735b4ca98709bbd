package service

import (
	"fmt"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/tensor"
)

// RaiseLimit ends the text of a failure whose response is too large.
const RaiseLimit = "; raise --max-response-bytes if the server means it"

// Keeper is implemented by sinks that may keep the responses of a call until the call ends.
type Keeper interface{ Keeps() bool }

// Keeps tells whether a sink keeps the responses of a call until the call ends.
func Keeps(s Sink) bool {
	k, ok := s.(Keeper)
	return ok && k.Keeps()
}

// EventCost is what one message of a streamed response counts beside its bytes: its time and place are kept too.
const EventCost = 64

// saidLimit is how much of a server's words is kept.
const saidLimit = 4 << 10

// Said is the door for the words of servers that stand in failures: a terminal may show them, and there may be many. It removes
// control characters, other than line breaks and tabs, and shortens the text.
func Said(text string) string {
	if len(text) <= saidLimit {
		return cleantext.Block(text, saidLimit)
	}
	return fmt.Sprintf("%s... (%d bytes in all)", cleantext.Block(text[:saidLimit], saidLimit), len(text))
}

// OutputBytes is the size of the outputs of one request with the given batch size. Outputs of variable size count as 0.
func (m *Model) OutputBytes(batch int) int64 {
	if m == nil {
		return 0
	}
	var sum int64
	for _, o := range m.Outputs {
		sum += min(max(0, tensor.ByteSize(o.Type, o.Shape)), mostOutput)
	}
	return min(sum*int64(max(1, batch)), mostOutput)
}

// Largest is the size of the largest request that was prepared. Many models of variable shapes answer with as much as they
// got, so limits allow for that.
type Largest struct{ bytes atomic.Int64 }

// See notes the size of a request.
func (l *Largest) See(bytes int) {
	for old := l.bytes.Load(); int64(bytes) > old && !l.bytes.CompareAndSwap(old, int64(bytes)); old = l.bytes.Load() {
	}
}

// Outputs is the size that the outputs of one request may have: see Model.OutputBytes.
func (l *Largest) Outputs(m *Model, batch int) int64 {
	return max(m.OutputBytes(batch), l.bytes.Load())
}

// mostOutput is as large as any response can be.
const mostOutput = 1 << 31
