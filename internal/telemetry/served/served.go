// Package served tells how the server served the requests that a client traces: those with a sampled traceparent of W3C Trace
// Context. It wraps handlers and services from the outside, so a server without a Sink has nothing of it in the path of a request.
//
// Times are taken right before data is passed on to be sent, so a span lies within the span of a client on the same machine.
package served

import (
	"encoding/hex"
	"regexp"
	"time"

	"github.com/redline-bench/redline/internal/telemetry"
)

// request is a request that is being served.
type request telemetry.Served

// Sink takes requests that were served. It must not block, and is called from many goroutines. A nil Sink takes none.
type Sink func(telemetry.Served)

// begin begins the span of a request with this traceparent. It is false if the client does not trace the request, or if there is
// no sink.
func (s Sink) begin(parent string) (request, bool) {
	if s == nil || parent == "" {
		return request{}, false
	}
	p, ok := parse(parent)
	p.Received = time.Now().UnixNano()
	return p, ok
}

// respond notes that a part of the response is about to be sent.
func (s *request) respond() {
	s.End = time.Now().UnixNano()
	if s.First == 0 {
		s.First = s.End
	}
}

// finish ends the span of a request without a response now.
func (s *request) finish() {
	if s.First == 0 {
		s.End = time.Now().UnixNano()
	}
}

// traceparent is VERSION-TRACE-PARENT-FLAGS in lower case, as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01. Later versions may
// have more behind another dash.
var traceparent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)

// parse reads a traceparent; false if it is not valid or not sampled.
func parse(text string) (s request, ok bool) {
	m := traceparent.FindStringSubmatch(text)
	if m == nil || m[1] == "ff" || m[1] == "00" && m[5] != "" {
		return s, false
	}
	var flags [1]byte
	for i, to := range [][]byte{s.Trace[:], s.Parent[:], flags[:]} {
		_, _ = hex.Decode(to, []byte(m[2+i])) // the expression allows digits only
	}
	return s, s.Trace != [16]byte{} && s.Parent != [8]byte{} && flags[0]&1 != 0
}
