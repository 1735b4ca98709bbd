//go:build !unix

package target

// raiseFileLimit has no limit to raise on this platform.
func raiseFileLimit(n uint64) uint64 { return n }
