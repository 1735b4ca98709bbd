package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals turns SIGINT, SIGTERM and SIGHUP into contexts: the first ends soft (start nothing more, report), the second
// hard too (cut what is in flight, report), the third ends the process.
type signals struct {
	soft, hard context.Context
	stop       func()
}

// watchSignals starts to listen. heard, when not nil, is called for each signal with its number in the row. Only the first
// SIGHUP counts: a terminal that closes may send several. Where SIGHUP is ignored, as under nohup, it stays so.
func (p *IO) watchSignals(heard func(sig os.Signal, nth int)) *signals {
	soft, endSoft := context.WithCancel(context.Background())
	hard, endHard := context.WithCancel(context.Background())
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		hungUp := false
		for nth := 1; ; nth++ {
			select {
			case <-quit:
				return
			case s := <-c:
				if s == syscall.SIGHUP && hungUp {
					nth--
					continue
				}
				hungUp = hungUp || s == syscall.SIGHUP
				p.Files.Interrupt()
				if heard != nil {
					heard(s, nth)
				}
				endSoft()
				if nth == 2 {
					endHard()
				}
				if nth >= 3 {
					os.Exit(exitInterrupted)
				}
			}
		}
	})
	return &signals{soft: soft, hard: hard, stop: func() {
		signal.Stop(c)
		close(quit)
		done.Wait()
		endSoft()
		endHard()
	}}
}
