// Package target is what commands do with the server of a plan before and after the load: see to it that so many connections can
// be made, say what to do about its errors, and ask what it is and has.
package target

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"

	"github.com/redline-bench/redline/internal/plan"
)

// spareFiles is what the program needs besides its connections.
const spareFiles = 64

// maxInFlight is what no client on one machine can do. Preparing for it would take all memory.
const maxInFlight = 1_000_000

// CheckConnections sees to it that so many connections can be made: each request in flight over HTTP/1.1 has one of its
// own, which needs a file descriptor and, towards one address, a local port.
func CheckConnections(t *plan.Target, need int) error {
	if need > maxInFlight {
		return fmt.Errorf("%d requests in flight are more than one client can hold; use at most %d", need, maxInFlight)
	}
	if t.Protocol != plan.HTTP || t.HTTPVersion == "2" {
		return nil
	}
	if files := raiseFileLimit(uint64(need) + spareFiles); files < uint64(need)+spareFiles {
		return fmt.Errorf("%d connections need %d open files and this process may have %d: run 'ulimit -n %d' first, or use -i grpc, which shares connections",
			need, need+spareFiles, files, need+spareFiles)
	}
	low, high, ok := portRange()
	if !ok {
		return nil
	}
	sources, err := spread(need, low, high, t.URL, t.Sources)
	t.Sources = sources
	return err
}

// widen is the line that raises the limit that an error ran into; "" for other errors. Loads on a schedule open connections
// as they need them, so that the number is not known before the load.
func widen(err error) string {
	switch {
	case errors.Is(err, syscall.EMFILE):
		files := raiseFileLimit(0)
		return fmt.Sprintf("this process may have %d open files: run 'ulimit -n %d' first, or ask for less at a time", files, 4*files)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return `the local ports are used up: run 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"' first, or name more of this machine's addresses with --source-addresses`
	}
	return ""
}

// spread sees to it that there are ports for so many connections to one server. Each address to connect from has
// the ports from low to high, of which some are left to others. Towards a server on this machine every address of
// the loopback network will do, so that as many as needed are used; elsewhere the user has to see to it.
func spread(need, low, high int, server string, sources []string) ([]string, error) {
	usable := max(1, (high-low+1)*9/10)
	if need <= usable*max(1, len(sources)) {
		return sources, nil
	}
	if len(sources) == 0 && everyLoopback && plan.IsLocal(server) && !strings.Contains(server, "[") { // an IPv6 address has brackets
		at := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		for range (need + usable - 1) / usable {
			sources = append(sources, at.String())
			at = at.Next()
		}
		return sources, nil
	}
	return sources, fmt.Errorf("%d connections to one server need as many local ports, and %d to %d are set aside for them: "+
		"run 'sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"' first, name more of this machine's addresses with --source-addresses, "+
		"or use -i grpc, which shares connections", need, low, high)
}
