package engine

import (
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Source fills in requests: Call.Req, Call.Vars and the record's step, sequence and flags.
type Source interface {
	Next(c *service.Call)
}

// Closer is a Source that may leave something open at the server, such as a sequence.
type Closer interface {
	// Close fills in one last request that closes what is open. It returns false if nothing is open. The request is sent
	// beyond any limit and is not measured.
	Close(c *service.Call) bool
}

// Restarter is a Source that can begin again with its first request.
type Restarter interface {
	Restart()
}

// Listener is a Source whose requests depend on earlier responses.
type Listener interface {
	Source
	// Heard is called when a request has ended, with its responses where Config.Keep is set. They are valid until Heard
	// returns. An error makes the request a failure. A source that judges failures itself sets the record's class to OK.
	Heard(c *service.Call, events []record.Event, responses []byte) error
	// Pause is how long a slot of a closed loop waits before its next request; a paused slot counts as active. ok is false
	// if there is no next request now: the slot is parked until Wake, and Pause may be called again at any time.
	Pause() (wait time.Duration, ok bool)
}

// Watcher is a Listener that sees each response as it comes, on the transport's goroutine.
type Watcher interface {
	Watch(c *service.Call, response []byte, at int64)
}
