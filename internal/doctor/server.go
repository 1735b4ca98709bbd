package doctor

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/unit"
)

// Answer describes how a server responded.
type Answer struct {
	URL string
	// What names the server, such as "triton 2.51.0, KServe v2 over HTTP".
	What string
	// Took is the time of the fastest of a few small requests.
	Took time.Duration
	// Models is the number of models that the server lists, Broken how many of them it could not load.
	Models, Broken int
	// Local: the server runs on this machine.
	Local bool
	Err   error
}

// far is the response time from which the network is a large part of measured latencies.
const far = 10 * time.Millisecond

// Server checks how a server responded.
func Server(a Answer) Check {
	const name = "server"
	if a.Err != nil {
		return Check{name, Bad, cleantext.Line(a.Err.Error()), "start the server, or correct the address: -u HOST:PORT"}
	}
	c := Check{name, OK, fmt.Sprintf("%s at %s answers in %s", cmp.Or(a.What, "a server"), a.URL, unit.Span(float64(a.Took))), ""}
	if a.Models > 0 {
		c.Found += fmt.Sprintf("; %s", unit.Count(a.Models, "model"))
	}
	switch {
	case a.Broken > 0:
		c.State = Warn
		c.Found += fmt.Sprintf(", %d could not be loaded", a.Broken)
		c.Fix = fmt.Sprintf("see why with 'redline inspect -u %s'", a.URL)
	case a.Took > far:
		c.State, c.Fix = Warn, "the network is part of every latency: run redline near the server"
	case a.Local:
		c.State = Warn
		c.Found += "; on this machine"
		c.Fix = "load and server share the cores: run redline on another machine, or give each its own cores with taskset"
	}
	return c
}
