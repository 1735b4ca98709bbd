package telemetry

import (
	"iter"

	"github.com/redline-bench/redline/internal/traceid"
)

// Request is one traced request after it ended. Times are readings of clock.Now; those that are not known are 0.
type Request struct {
	ID                    traceid.ID
	Class                 string // the traffic class of a scenario; empty in other runs
	Level                 string
	Outcome               string // ok, or the failure class
	Due, Sent, First, End int64
	Responses             uint32
	// Chunks are the arrival times of the chunks of a language model's response, Input and Output its tokens.
	Chunks        []int64
	Input, Output int
}

// Response is a measured response of a language model.
type Response struct {
	Request        // without Chunks
	Slot    uint32 // with the send time, it names the request
	Times   iter.Seq[int64]
	// FirstChunk and LastChunk are 0 in a response without chunks.
	FirstChunk, LastChunk int64
}

// Served is one traced request as the reference server served it. Times are nanoseconds since the Unix epoch.
type Served struct {
	Trace   [16]byte
	Parent  [8]byte // the span of the client
	Name    string  // method and path
	Version string  // of HTTP
	RPC     bool    // gRPC
	Status  int     // of HTTP, or of gRPC
	Failed  bool
	// First is the time of the first part of the response; 0 if there was none. End is the time of the last part, or the time at which the
	// server ended without a response.
	Received, First, End int64
}
