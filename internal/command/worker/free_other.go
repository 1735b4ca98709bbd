//go:build !unix

package worker

import "math"

// free is the room in a folder; it is not known here, and a full disk is noticed when a file is written.
func free(string) (int64, error) { return math.MaxInt64, nil }
