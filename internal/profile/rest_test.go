package profile

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/clock"
)

// On one processor, what the network brings is seen while records are worked off. A pipe stands for the network: Go waits
// for both in the same way, and what is written to a pipe is there at once.
func TestExportLeavesRoomForTheLoad(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	var seen atomic.Bool
	waits := make(chan struct{})
	go func() {
		close(waits)
		if _, err := in.Read(make([]byte, 1)); err == nil {
			seen.Store(true)
		}
	}()
	<-waits
	runtime.Gosched()
	var r rest
	r.begin(true, nil)
	if _, err := out.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	naps, last := 0, r.from
	for stints := 0; (naps == 0 || !seen.Load()) && stints < 1000; stints++ {
		for from := clock.Now(); clock.Now() < from+stint; { // a stint of work
		}
		if r.take(); r.from != last {
			naps, last = naps+1, r.from
		}
	}
	if naps == 0 || naps > 20 { // after some forty stints Go looks at the network anyhow
		t.Errorf("the network was looked at after %d naps", naps)
	}
}

func TestNoRestWithoutNeed(t *testing.T) {
	f := func(why string, procs int, export bool, over <-chan struct{}) {
		t.Helper()
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		var r rest
		r.begin(export, over)
		if r.from != 0 {
			r.from -= 2 * stint
		}
		if last := r.from; last != 0 {
			if r.take(); r.from != last {
				t.Errorf("%s: it rests", why)
			}
		}
	}
	f("nothing is exported", 1, false, nil)
	f("there are two processors", 2, true, nil)
	ended := make(chan struct{})
	close(ended)
	f("the load has ended", 1, true, ended)
}
