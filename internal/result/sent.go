package result

import "fmt"

// Sent is what was sent of a run to another tool while the run went on.
type Sent struct {
	To      string `json:"to"`      // OTLP metrics
	Address string `json:"address"` // without secrets
	Sends   int    `json:"sends"`
	Failed  int    `json:"failed,omitempty"`
	// Spans counts the spans that arrived, Dropped those that did not: the queue was full, or their send failed.
	Spans   uint64 `json:"spans,omitempty"`
	Dropped uint64 `json:"dropped,omitempty"`
	// Complete: the receiver has everything. Counts are totals, so it has all of them if the last send arrived.
	Complete bool `json:"complete"`
	// Error is the first failure.
	Error string `json:"error,omitempty"`
}

// SpansSent is the name of what is sent as spans.
const SpansSent = "OTLP spans"

// Lost says what the receiver lacks; empty if it lacks nothing.
func (s *Sent) Lost() string {
	if s.Failed == 0 && s.Dropped == 0 && s.Complete {
		return ""
	}
	text := fmt.Sprintf("%s: %d of %d sends to %s failed", s.To, s.Failed, s.Sends, s.Address)
	switch {
	case s.To == SpansSent:
		text = fmt.Sprintf("%s: %d of %d did not arrive at %s, because the queue was full or a send failed", s.To, s.Dropped, s.Dropped+s.Spans, s.Address)
	case s.Complete:
		text += "; the last send arrived, so the totals there are complete"
	default:
		text += "; the last send did not arrive, so the totals there are not complete"
	}
	if s.Error != "" {
		text += ": " + s.Error // last, because it may be long and then be cut
	}
	return text
}
