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
	r.begin(true)
	if _, err := out.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	naps, last := 0, r.from
	for stints := 0; (naps == 0 || !seen.Load()) && stints < 1000; stints++ {
		for from := clock.Now(); clock.Now() < from+stint; { // a stint of work
		}
		if r.take(func() bool { return true }); r.from != last {
			naps, last = naps+1, r.from
		}
	}
	if naps == 0 || naps > 20 { // after some forty stints Go looks at the network anyhow
		t.Errorf("the network was looked at after %d naps", naps)
	}
}

func TestNoRestWithoutNeed(t *testing.T) {
	asked := func() bool {
		t.Error("it asks whether there is load")
		return true
	}
	var r rest
	r.begin(false)
	r.take(asked)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	r.begin(true)
	r.take(asked)
}
