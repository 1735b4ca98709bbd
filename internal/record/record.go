// Package record holds what is known of each request after it ended: a fixed-size value, written by the
// goroutine that saw the end, read by the one collector.
//
// A Shard belongs to one writer. It is a list of blocks; the writer fills the newest and publishes its length
// with one atomic store, the collector reads up to that length. Nothing is locked and nothing is shared
// between writers, so recording costs the same with one worker and with thousands. Variable parts (the times
// of streamed responses, and response bytes when an export wants them) lie in arenas of the same block.
package record

// Class says how a request ended.
type Class uint8

// The classes. Everything but OK is a failure and never enters a latency.
const (
	OK        Class = iota
	Connect         // no connection could be made
	Transport       // the connection broke, or was closed, before the whole response came
	Protocol        // the response breaks HTTP, HTTP/2, gRPC or the service's format
	Server          // the server answered with an error
	Mismatch        // the response is well formed but not the expected one
	Timeout         // the request's deadline passed
	Canceled        // cut by the client: the run was stopped
	NumClasses
)

var classNames = [NumClasses]string{"ok", "connect", "transport", "protocol", "server", "mismatch", "timeout", "canceled"}

func (c Class) String() string {
	if c < NumClasses {
		return classNames[c]
	}
	return "unknown"
}

// Flags of a record.
const (
	SequenceStart uint8 = 1 << iota
	SequenceEnd
	Delayed    // sent later than the schedule allows
	EmptyFinal // the last response carried no outputs: it ends the stream but is not a response
	Closing    // sent to end an open sequence, not by the load: it is not measured
)

// Record is one ended request. Times are readings of clock.Now.
type Record struct {
	Due     int64  // when the schedule wanted it; equal to Sent in closed loop
	Sent    int64  // before the first byte was encoded or written
	Written int64  // after the request was handed to the kernel or to the connection's buffer
	First   int64  // first byte of the response seen
	End     int64  // the last response that carries a response
	Late    int64  // the longest time for which a part of the response had come and was not read; 0 if it is not known
	SeqID   uint64 // sequence or correlation id; 0 is none
	In, Out uint64 // payload bytes received and sent
	Step    uint32 // which prepared request it was: an index into the workload
	Slot    uint32
	Class   Class
	Flags   uint8
	// Responses counts the responses, the empty final one excluded.
	Responses uint32
}

// Latency is the time from send to end; see measure for the latency from the due time.
func (r *Record) Latency() int64 { return r.End - r.Sent }

// Lag is how late the request was sent.
func (r *Record) Lag() int64 { return r.Sent - r.Due }

// Event is one response of a streamed request: when it was read, and its bytes when they are kept.
type Event struct {
	At   int64
	Size uint32 // bytes of this response in the data arena
}
