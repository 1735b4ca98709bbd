// Package text writes what perf_analyzer writes: the console report, the messages on stderr, the latency CSV, and
// the words in which it reports a broken connection.
//
// Programs match on this text, so it is exact to the byte: trailing spaces, missing spaces and odd words are the
// original's. The numbers are not copied from its slips: a rate always has six significant digits, a difference
// never wraps below zero, and the deviation of a single request is 0.
//
// All functions are pure writers of a result. Durations come in as nanoseconds and go out as whole microseconds,
// cut off rather than rounded.
package text
