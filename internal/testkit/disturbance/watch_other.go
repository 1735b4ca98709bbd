//go:build !linux

package disturbance

import "time"

// Watch records what happens on the machine from Start to Stop; this system does not tell.
type Watch struct{ begun time.Time }

// Start begins to watch.
func Start() *Watch { return &Watch{time.Now()} }

// Stop ends watching.
func (w *Watch) Stop() Report { return Report{Wall: time.Since(w.begun), Unknown: true} }
