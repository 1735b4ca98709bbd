//go:build !race

package arrival

// raced: the race detector is at work.
const raced = false
