//go:build race

package arrival

// raced: the race detector is at work. It takes a read to come after the write that it reads only where the standard
// library does both.
const raced = true
