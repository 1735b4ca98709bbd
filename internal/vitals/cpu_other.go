//go:build !unix

package vitals

import "time"

// cpuTime is not known on this platform; the CPU lines of the report then show 0.
func cpuTime() time.Duration { return 0 }
