package doctor

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// The program needs spareFiles besides its connections. Most loads have fewer than manyConnections.
const (
	spareFiles      = 64
	manyConnections = 10_000
)

// openFiles checks how many connections the process may open. The program raises its own soft limit up to the hard one.
func openFiles(root fs.FS) Check {
	const name = "open files"
	for text := range strings.Lines(line(root, "proc/self/limits")) {
		rest, ok := strings.CutPrefix(text, "Max open files")
		fields := strings.Fields(rest)
		if !ok || len(fields) < 2 {
			continue
		}
		hard, err := strconv.Atoi(fields[1])
		if fields[1] == "unlimited" {
			return Check{name, OK, "no limit", ""}
		}
		if err != nil {
			break
		}
		c := Check{name, OK, fmt.Sprintf("at most %d, enough for %d connections over HTTP/1.1", hard, max(0, hard-spareFiles)), ""}
		if hard < manyConnections {
			c.State = Warn
			c.Fix = "raise the hard limit: 'ulimit -Hn 65536' as root, LimitNOFILE=65536 in systemd, --ulimit nofile=65536 in Docker; or use -i grpc, which shares connections"
		}
		if hard < 1024 {
			c.State = Bad
		}
		return c
	}
	return unknown(name)
}

// localPorts checks how many connections to one address are possible.
func localPorts(root fs.FS) Check {
	const name = "local ports"
	var low, high int
	if n, err := fmt.Sscan(line(root, "proc/sys/net/ipv4/ip_local_port_range"), &low, &high); n != 2 || err != nil || high < low {
		return unknown(name)
	}
	all, waiting := high-low+1, closing(root)
	c := Check{name, OK, fmt.Sprintf("%d for connections to one address", all), ""}
	if waiting > 0 {
		c.Found += fmt.Sprintf("; closed connections still use %d of them", waiting)
	}
	switch {
	case waiting > all/2:
		c.State, c.Fix = Warn, "wait a minute until the closed connections have expired, or run 'sysctl -w net.ipv4.tcp_tw_reuse=1'"
	case all < manyConnections:
		c.State = Warn
		c.Fix = `run 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"', or give more addresses of this machine with --source-addresses`
	}
	return c
}

// closing counts the connections in the state TIME_WAIT, which keep their port for a minute.
func closing(root fs.FS) int {
	for text := range strings.Lines(line(root, "proc/net/sockstat")) {
		fields := strings.Fields(text)
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if fields[i] == "tw" {
				n, _ := strconv.Atoi(fields[i+1]) // what is not a number counts as none
				return n
			}
		}
	}
	return 0
}

// sharedSpace checks /dev/shm, through which --shared-memory system passes tensors.
func sharedSpace(size, free uint64, err error) Check {
	const name, mib, little = "shared memory", 1 << 20, 256
	if err != nil {
		return unknown(name)
	}
	c := Check{name, OK, fmt.Sprintf("%s free of %s in /dev/shm", bytesText(free), bytesText(size)), ""}
	if free/mib < little {
		c.State = Warn
		c.Fix = "needed for --shared-memory system only: give /dev/shm more room (docker run --shm-size=1g or --ipc=host), or delete files in it"
	}
	return c
}

func bytesText(n uint64) string {
	const mib = 1 << 20
	if n < 10<<30 {
		return fmt.Sprintf("%d MiB", n/mib)
	}
	return fmt.Sprintf("%d GiB", n/mib/1024)
}
