package target

import (
	"fmt"
	"os"
)

// everyLoopback: all of 127.0.0.0/8 can be connected from, without being set up.
const everyLoopback = true

// portRange is the range of ports that the kernel gives to outgoing connections.
func portRange() (low, high int, ok bool) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, 0, false
	}
	n, err := fmt.Sscan(string(text), &low, &high)
	return low, high, n == 2 && err == nil && high >= low
}
