package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redline-bench/redline/internal/term"
)

// Time limits after a signal. When one has passed, the process ends, whatever it waits for.
const (
	// prepareGrace starts at the first signal, before anything was measured.
	prepareGrace = 2 * time.Second
	// loadGrace starts at the first signal during a load: requests in flight get 5 s, then their windows are closed. After
	// loadGrace the requests in flight are canceled, as by a second signal.
	loadGrace = 20 * time.Second
	// cutGrace starts at the second signal.
	cutGrace = 5 * time.Second
	// noticeGrace limits how long printing the notice about a signal may take: the console may be a full pipe.
	noticeGrace = 500 * time.Millisecond
)

// Phase is the part of a command's work. It decides what a signal does.
type Phase int32

// The phases.
const (
	Preparing Phase = iota // nothing is measured yet
	Loading                // requests are sent
	Writing                // the load has ended, and its results must not be lost
)

func (p Phase) String() string {
	return [...]string{"preparing the run", "ending the load", "writing the results"}[p]
}

// Signals turns SIGINT, SIGTERM and SIGHUP into contexts: the first ends Soft (start nothing more, report), the second
// Hard too (cancel requests in flight, report), the third ends the process. The process also ends when prepareGrace,
// loadGrace or cutGrace has passed.
type Signals struct {
	Soft, Hard context.Context

	io               *IO
	endSoft, endHard context.CancelFunc
	now              atomic.Int32 // the phase
	notice           atomic.Pointer[func(os.Signal, int)]
	line             atomic.Pointer[term.Line] // progress on the terminal
	caught           chan os.Signal
	stops            chan os.Signal // Ctrl-Z
	quit             chan struct{}
	once             sync.Once
	done             sync.WaitGroup
	limit            <-chan time.Time
}

// WatchSignals starts to catch signals. Only the first SIGHUP counts: a terminal that closes may send several.
func (p *IO) WatchSignals(now Phase) *Signals {
	s := &Signals{io: p, caught: make(chan os.Signal, 4), stops: make(chan os.Signal, 1), quit: make(chan struct{})}
	s.Soft, s.endSoft = context.WithCancel(context.Background())
	s.Hard, s.endHard = context.WithCancel(context.Background())
	s.Enter(now)
	CatchSignals(s.caught)
	s.done.Go(s.watch)
	return s
}

// CatchSignals has the signals that end a run sent to c. A SIGHUP that is ignored, as under nohup, stays ignored.
func CatchSignals(c chan<- os.Signal) {
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
}

// Until is for a run that signals do not end: Soft ends with ctx, and Hard cutGrace later.
func (p *IO) Until(ctx context.Context) *Signals {
	s := &Signals{io: p, quit: make(chan struct{})}
	s.Soft, s.endSoft = context.WithCancel(ctx)
	s.Hard, s.endHard = context.WithCancel(context.WithoutCancel(ctx))
	s.done.Go(func() {
		select {
		case <-s.quit:
			return
		case <-ctx.Done():
		}
		select {
		case <-s.quit:
		case <-time.After(cutGrace):
			s.endHard()
		}
	})
	return s
}

// SignalContext ends at the first SIGINT, SIGTERM or SIGHUP.
func (p *IO) SignalContext() (context.Context, func()) {
	s := p.WatchSignals(Writing)
	return s.Soft, s.Stop
}

// announce has each signal reported on p.
func (s *Signals) announce(p *IO, notice func(sig os.Signal, nth int)) {
	s.notice.Store(&notice)
	s.line.Store(p.Line)
}

// suspendable removes the progress from the terminal before Ctrl-Z stops the process: the shell then writes where the progress
// stood. The next progress after the process was continued is drawn below what the shell wrote.
func (s *Signals) suspendable(line *term.Line) {
	list := suspendSignals()
	if len(list) == 0 {
		return
	}
	signal.Notify(s.stops, list...)
	s.done.Go(func() {
		for {
			select {
			case <-s.quit:
				return
			case <-s.stops:
				release := line.Hold()
				stopProcess()
				release()
			}
		}
	})
}

// Enter begins a phase.
func (s *Signals) Enter(p Phase) { s.now.Store(int32(p)) }

func (s *Signals) phase() Phase { return Phase(s.now.Load()) }

// Stop ends the watch. It may be called twice. After a signal, later ones stay without effect: one that comes between Stop and the end
// of the process must not replace the exit code.
func (s *Signals) Stop() {
	s.once.Do(func() {
		close(s.quit)
		s.done.Wait()
		if s.caught != nil {
			if s.Soft.Err() != nil { // a signal was caught
				CatchSignals(make(chan os.Signal, 1))
			}
			signal.Stop(s.caught)
			signal.Stop(s.stops)
		}
		s.endSoft()
		s.endHard()
	})
}

func (s *Signals) watch() {
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

// heard handles the nth signal.
func (s *Signals) heard(sig os.Signal, nth int) {
	s.io.Files.Interrupt()
	if notice := s.notice.Load(); notice != nil {
		s.say(func() { (*notice)(sig, nth) })
	}
	s.endSoft()
	switch {
	case nth == 1 && s.phase() == Preparing:
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

// late handles a time limit that has passed.
func (s *Signals) late() {
	switch now := s.phase(); {
	case now == Preparing || s.Hard.Err() != nil:
		s.say(func() { fmt.Fprintf(s.io.Stderr, "redline: interrupted, and %s did not end in time\n", now) })
		s.exit()
	case now == Loading:
		s.endHard()
		s.limit = time.After(cutGrace)
	}
}

// say prints, but waits at most noticeGrace for a console that does not read.
func (s *Signals) say(words func()) {
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

// exit ends the process at once. Files that are not complete are removed, and so is the progress on the terminal.
func (s *Signals) exit() {
	s.say(func() { s.line.Load().Clear() })
	s.io.Files.Discard()
	s.io.Exit(ExitInterrupted)
}
