//go:build unix

package command

import (
	"os/signal"
	"syscall"

	"github.com/redline-bench/redline/internal/term"
)

// suspendable removes the progress from the terminal before Ctrl-Z stops the process: the shell then writes where the progress
// stood. The next progress after the process was continued is drawn below what the shell wrote.
func (s *Signals) suspendable(line *term.Line) {
	signal.Notify(s.stops, syscall.SIGTSTP)
	s.done.Go(func() {
		for {
			select {
			case <-s.quit:
				return
			case <-s.stops:
				release := line.Hold()
				_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) // cannot fail for this process
				release()
			}
		}
	})
}
