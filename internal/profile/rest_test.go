package profile

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/clock"
)

// On one processor, what the network brings is seen while records are worked off.
func TestExportLeavesRoomForTheLoad(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	out, err := new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
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
	if _, err := out.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	naps := 0
	for ; !seen.Load() && naps < 100; naps++ {
		for from := clock.Now(); clock.Now() < from+stint; { // a stint of work
		}
		r.take(func() bool { return true })
	}
	if naps > 30 { // 10 ms at least: that is when Go looks at the network anyhow
		t.Errorf("the network was looked at after %d rests", naps)
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
