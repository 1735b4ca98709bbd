// Package record holds one fixed-size record per ended request. The goroutine that saw the end writes it; one collector
// reads all records.
//
// A Shard belongs to one writer. It is a list of blocks; the writer fills the newest and publishes its length
// with one atomic store, the collector reads up to that length. Writers share nothing and take no lock, so the
// cost of a record does not depend on the number of writers. Variable parts (the times of streamed responses, and
// response bytes if an export needs them) are in arenas of the block.
package record

// Class says how a request ended.
type Class uint8

// The classes. All except OK are failures, which are in no latency.
const (
	OK        Class = iota
	Connect         // no connection could be made
	Transport       // the connection broke, or was closed, before the whole response came
	Protocol        // the response breaks HTTP, HTTP/2, gRPC or the service's format
	Server          // the server responded with an error
	Mismatch        // the response is well formed but not the expected one
	Timeout         // the request's deadline passed
	Canceled        // canceled by the client because the run was stopped
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
	Closing    // sent to end an open sequence; not part of the load and not measured
	Resent     // sent again, because the server left the connection or refused the request before a response
)

// Record is one ended request. Times are readings of clock.Now.
type Record struct {
	Due     int64  // due time; equal to Sent in closed loop
	Sent    int64  // before the first byte was encoded or written
	Written int64  // after the request was handed to the kernel or to the connection's buffer
	First   int64  // first byte of the response seen
	End     int64  // end of the last response that has outputs
	Late    int64  // read lag: the longest time for which a part of the response had arrived but was not read; 0 if unknown
	ID      uint64 // request id; 0 for none
	SeqID   uint64 // sequence or correlation id; 0 for none
	In, Out uint64 // payload bytes received and sent
	Step    uint32 // the prepared request that was sent: an index into the workload
	Slot    uint32
	Class   Class
	Flags   uint8
	// Responses counts the responses, the empty final one excluded.
	Responses uint32
}

// Latency is the time from send to end; see measure for the latency from the due time.
func (r *Record) Latency() int64 { return r.End - r.Sent }

// Lag is the send lag: send time − due time.
func (r *Record) Lag() int64 { return r.Sent - r.Due }

// Event is one response of a streamed request: when it was read, and its bytes when they are kept.
type Event struct {
	At   int64
	Size uint32 // bytes of this response in the data arena
}
