package telemetry

import "github.com/redline-bench/redline/internal/traceid"

// Request is one traced request after it ended. Times are readings of clock.Now; those that are not known are 0.
type Request struct {
	ID                    traceid.ID
	Level, Class          string // Class is ok or the failure class
	Due, Sent, First, End int64
	Responses             uint32
	// Chunks are the arrival times of the chunks of a language model's response, Input and Output its tokens.
	Chunks        []int64
	Input, Output int
}
