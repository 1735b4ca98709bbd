package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals turns SIGINT and SIGTERM into contexts: the first ends soft (start nothing more, report), the second
// hard too (cut what is in flight, report), the third ends the process.
type signals struct {
	soft, hard context.Context
	stop       func()
}

// watchSignals starts to listen. heard, when not nil, is called for each signal with its number in the row.
func watchSignals(heard func(sig os.Signal, nth int)) *signals {
	soft, endSoft := context.WithCancel(context.Background())
	hard, endHard := context.WithCancel(context.Background())
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for nth := 1; ; nth++ {
			select {
			case <-quit:
				return
			case s := <-c:
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
