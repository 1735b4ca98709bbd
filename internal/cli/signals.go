package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// How long a command may go on after a signal. The process ends then, whatever it waits for.
const (
	// prepareGrace counts from the first signal while nothing was measured yet.
	prepareGrace = 2 * time.Second
	// loadGrace counts from the first signal during a load: requests in flight have 5 s, and their windows must be closed.
	// The load is cut then, as by a second signal.
	loadGrace = 20 * time.Second
	// cutGrace counts from the second signal.
	cutGrace = 5 * time.Second
	// noticeGrace is how long the words about a signal may hold up what follows: the console may be a pipe that is full.
	noticeGrace = 500 * time.Millisecond
)

// phase is what a command does, as far as it matters for a signal.
type phase int32

const (
	preparing phase = iota // nothing is measured yet
	loading                // requests are sent
	writing                // the load is over, and its results must not be lost
)

func (p phase) String() string {
	return [...]string{"preparing the run", "ending the load", "writing the results"}[p]
}

// signals turns SIGINT, SIGTERM and SIGHUP into contexts: the first ends soft (start nothing more, report), the second
// hard too (cut what is in flight, report), the third ends the process. A process that does not end in time, see
// prepareGrace and the others, is ended.
type signals struct {
	soft, hard context.Context

	io               *IO
	endSoft, endHard context.CancelFunc
	now              atomic.Int32 // the phase
	notice           atomic.Pointer[func(os.Signal, int)]
	caught           chan os.Signal
	quit             chan struct{}
	once             sync.Once
	done             sync.WaitGroup
	limit            <-chan time.Time
}

// watchSignals starts to listen. Only the first SIGHUP counts: a terminal that closes may send several. Where SIGHUP is
// ignored, as under nohup, it stays so.
func (p *IO) watchSignals(now phase) *signals {
	s := &signals{io: p, caught: make(chan os.Signal, 4), quit: make(chan struct{})}
	s.soft, s.endSoft = context.WithCancel(context.Background())
	s.hard, s.endHard = context.WithCancel(context.Background())
	s.enter(now)
	signal.Notify(s.caught, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(s.caught, syscall.SIGHUP)
	}
	s.done.Go(s.watch)
	return s
}

// announce has notice called for each signal with its number in the row.
func (s *signals) announce(notice func(sig os.Signal, nth int)) { s.notice.Store(&notice) }

// enter begins a phase.
func (s *signals) enter(p phase) { s.now.Store(int32(p)) }

func (s *signals) phase() phase { return phase(s.now.Load()) }

// stop ends the listening. It may be called twice.
func (s *signals) stop() {
	s.once.Do(func() {
		signal.Stop(s.caught)
		close(s.quit)
		s.done.Wait()
		s.endSoft()
		s.endHard()
	})
}

func (s *signals) watch() {
	hungUp := false
	for nth := 1; ; {
		select {
		case <-s.quit:
			return
		case sig := <-s.caught:
			if sig == syscall.SIGHUP && hungUp {
				continue
			}
			hungUp = hungUp || sig == syscall.SIGHUP
			s.heard(sig, nth)
			nth++
		case <-s.limit:
			s.late()
		}
	}
}

// heard acts on the nth signal.
func (s *signals) heard(sig os.Signal, nth int) {
	s.io.Files.Interrupt()
	if notice := s.notice.Load(); notice != nil {
		s.say(func() { (*notice)(sig, nth) })
	}
	s.endSoft()
	switch {
	case nth == 1 && s.phase() == preparing:
		s.limit = time.After(prepareGrace)
	case nth == 1:
		s.limit = time.After(loadGrace)
	case nth == 2:
		s.endHard()
		s.limit = time.After(cutGrace)
	default:
		s.exit()
	}
}

// late acts on a limit that has passed.
func (s *signals) late() {
	switch now := s.phase(); {
	case now == preparing || s.hard.Err() != nil:
		s.say(func() { fmt.Fprintf(s.io.Stderr, "redline: interrupted, and %s did not end in time\n", now) })
		s.exit()
	case now == loading:
		s.endHard()
		s.limit = time.After(cutGrace)
	}
}

// say prints, and does not wait for a console that takes nothing.
func (s *signals) say(words func()) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		words()
	}()
	select {
	case <-said:
	case <-time.After(noticeGrace):
	}
}

// exit ends the process at once. Files that are not complete are removed.
func (s *signals) exit() {
	s.io.Files.Discard()
	os.Exit(exitInterrupted)
}
