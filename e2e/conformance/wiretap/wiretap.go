// Package wiretap stands between a client and a KServe v2 server, passes everything on as it is, and writes down
// the requests: over HTTP head and body byte for byte, over gRPC each message of each call.
//
// Normalize turns what was written down into lines that two clients can be compared by. What two runs of the same
// client do not share (how many requests fit into a window, random data, counters) is masked or left out; names,
// order of headers, JSON members, shapes, parameters, flags, ids' form and data that the user chose are kept.
package wiretap

import "sync"

// Request is one HTTP request, or one message of a gRPC call; or the response to one.
type Request struct {
	// A call is a number: of the gRPC call, so that the messages of a stream can be told apart, or of the connection.
	Call   int
	Answer bool // what came back; Message is what it said over gRPC

	// HTTP.
	Line    string   // "POST /v2/models/simple/infer"
	Headers []string // in order, as sent
	Body    []byte

	// gRPC.
	Method      string // the last part: ModelInfer
	Metadata    map[string][]string
	Compression string
	Message     []byte
}

// Log holds what was seen, in the order in which it came.
type Log struct {
	mu    sync.Mutex
	list  []Request
	calls int
}

func (l *Log) add(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, *r)
}

func (l *Log) call() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.calls
}

// Take returns what was seen since the last Take.
func (l *Log) Take() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.list
	l.list, l.calls = nil, 0
	return list
}
