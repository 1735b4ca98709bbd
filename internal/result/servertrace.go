package result

// ServerTraces are requests of a level that the server traced too (--trace-file), with the spans of both sides.
type ServerTraces struct {
	Matched int    `json:"matched"`         // requests of the level that the server's file has
	Clock   string `json:"clock,omitempty"` // the clock of the server's times
	Note    string `json:"note,omitempty"`  // why there is no trace
	// Slowest are the slowest of these requests, slowest first.
	Slowest []RequestTrace `json:"slowest,omitempty"`
}

// RequestTrace is one request with its spans.
type RequestTrace struct {
	RequestID   string `json:"request_id"`
	Model       string `json:"model"`
	StartUnixNs int64  `json:"start_unix_ns"` // due time
	LatencyNs   int64  `json:"latency_ns"`    // from the due time
	Spans       []Span `json:"spans"`
}

// SpanWaits is the span of a request between its due time and its send time.
const SpanWaits = "waits to be sent"

// Span is a part of a request. Times count from the due time. Depth is 0 for the request itself, and grows with the steps inside.
type Span struct {
	Name    string `json:"name"`
	Model   string `json:"model,omitempty"`
	Server  bool   `json:"server,omitempty"`
	Depth   int    `json:"depth,omitempty"`
	StartNs int64  `json:"start_ns"`
	EndNs   int64  `json:"end_ns"`
}
