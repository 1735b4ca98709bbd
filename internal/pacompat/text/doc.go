// Package text writes what perf_analyzer writes: the console report, the messages on stderr, the latency CSV, and the messages
// about broken connections.
//
// Programs match on this text, so it is exact to the byte: trailing spaces, missing spaces and odd words are perf_analyzer's. Its
// errors in numbers are not copied: a rate always has six significant digits, a difference never wraps below zero, and the
// deviation of a single request is 0.
//
// All functions are pure writers of a result. Durations are read as nanoseconds and written as whole microseconds, truncated.
package text
