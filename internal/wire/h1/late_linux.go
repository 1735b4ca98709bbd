package h1

import (
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/clock"
)

// Streams that are read late.
//
// Each token of a slow stream wakes the loop, and being woken costs several times what the reading does. Where the kernel
// notes when bytes come, the time of the read is of no account; so tokens of many streams may lie for a moment, and one
// wake-up serves them all. Such streams wait in an epoll instance at which nobody waits, and a timer has the loop look
// into it. The loop's thread does not sleep meanwhile: whatever else comes is served at once, and so is every send.
//
// What it costs the run is that a stream's end is seen late, and with it the next request of a closed loop sent late, by
// a millisecond at most. What it could cost the times is that two tokens of one stream meet in a read, and the first gets
// the time of the second. The limits below keep both small, and where reads are few there is nothing to gain. A stream whose
// events come in parts, or in pairs, is never read late: its server may wait for the acknowledgment of the first part,
// which goes out with the read.
const (
	// A look follows the last after an eighth of the shortest time between two reads of a stream that was seen lately, within
	// these bounds.
	share, shortNap, longNap = 8, int64(250 * time.Microsecond), int64(time.Millisecond)
	// spaced is how many reads in a row must be far enough apart, for the shortest nap at least. After tokens have met in a
	// read, it is met more.
	spaced, met = 2, 100
	// lasting is how long the stream, or the one before it on the connection, must have lasted: a request that follows it is
	// late by a hundredth of that at most.
	lasting = 100 * longNap
	// trial is how long the loop counts before it decides whether reading late pays: two looks must find three reads to
	// begin with it, and each look one to go on.
	trial = 50 * longNap
)

// pace is what is known of the rhythm of a connection's streams. It is the loop's alone.
type pace struct {
	first  int64 // when the first read of the stream came; 0 between streams
	last   int64 // and the last
	gap    int64 // the time between the last two
	lasted int64 // how long the stream before it took
	apart  int   // reads in a row that were far enough apart
	late   bool  // it is read late
}

// lateness is the loop's side of it.
type lateness struct {
	ep, timer int // 0: not made yet
	failed    bool
	on        bool // it pays
	conns     int  // those that are read late
	nap       int64

	// The trial at hand.
	since    int64 // when it began
	reads    int64
	shortest int64 // time between two reads of a stream
}

// timerNumber is what the timer's events carry in place of a connection's number.
const timerNumber = -1

// paced looks at a connection after a read: it is read late from now on, or no longer. The read brought so many pieces of a
// body, which came at the given time and lay unread for so long; 0 where the kernel gave no time that could be used.
func (l *Loop) paced(c *Conn, pieces int, at, lay int64) {
	p := &c.sock.pace
	switch {
	case !c.rd.stream || !c.rd.state.chunked():
		p.end()
	case p.first == 0:
		p.first, p.last = at, at
	case p.steady(pieces, at, lay):
		l.late.reads++
		l.late.shortest = min(l.late.shortest, p.gap)
		l.decide(at + lay)
		if l.late.on && !p.late {
			l.readLate(c)
		}
		return
	}
	if p.late {
		l.readNow(c)
	}
}

// end notes that the stream is over, if there was one.
func (p *pace) end() {
	if p.first > 0 {
		p.lasted, p.first = p.last-p.first, 0
	}
}

// steady takes up a read within a stream and tells whether the next may be late.
func (p *pace) steady(pieces int, at, lay int64) bool {
	p.gap, p.last = at-p.last, at
	switch {
	case lay <= 0, p.gap < share*shortNap:
		p.apart = min(p.apart, 0)
	case p.late && pieces > 1:
		p.apart = -met
	default:
		p.apart++
	}
	return p.apart >= spaced && max(p.lasted, at-p.first) >= lasting
}

// decide counts, at the end of a trial, whether reading late pays.
func (l *Loop) decide(now int64) {
	took := now - l.late.since
	if took < trial {
		return
	}
	nap := min(max(l.late.shortest/share, shortNap), longNap)
	looks := took / nap
	if l.late.on {
		l.late.on = l.late.reads >= looks
	} else {
		l.late.on = 2*l.late.reads >= 3*looks && l.prepareLate()
	}
	l.late.nap, l.late.since, l.late.reads, l.late.shortest = nap, now, 0, math.MaxInt64
	if l.late.on || l.late.conns == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		if c != nil && c.sock.pace.late {
			l.readNow(c)
		}
	}
}

// prepareLate makes what reading late needs. It returns false where it cannot be had.
func (l *Loop) prepareLate() bool {
	t := &l.late
	if t.ep != 0 || t.failed {
		return !t.failed
	}
	t.failed = true
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(ep) // nothing is lost
		return false
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET&0xffffffff, Fd: timerNumber}
	if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, timer, &ev); err != nil {
		_, _ = unix.Close(ep), unix.Close(timer) // nothing is lost
		return false
	}
	t.ep, t.timer, t.failed = ep, timer, false
	return true
}

func (l *Loop) closeLate() {
	if l.late.ep != 0 {
		_, _ = unix.Close(l.late.ep), unix.Close(l.late.timer) // they hold nothing
	}
}

// readLate moves a connection to those that are read late.
func (l *Loop) readLate(c *Conn) {
	ev := unix.EpollEvent{Events: readEvents, Fd: c.sock.number}
	if unix.EpollCtl(l.late.ep, unix.EPOLL_CTL_ADD, c.sock.fd, &ev) != nil {
		return
	}
	_ = unix.EpollCtl(l.ep, unix.EPOLL_CTL_DEL, c.sock.fd, nil) // it is there
	c.sock.pace.late = true
	if l.late.conns++; l.late.conns == 1 {
		l.setTimer()
	}
}

// readNow moves a connection back. What has come meanwhile, or room to write, is told anew.
func (l *Loop) readNow(c *Conn) {
	ev := unix.EpollEvent{Events: allEvents, Fd: c.sock.number}
	if unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, c.sock.fd, &ev) != nil {
		return // it is read late, but it is read
	}
	_ = unix.EpollCtl(l.late.ep, unix.EPOLL_CTL_DEL, c.sock.fd, nil) // it is there
	c.sock.pace.late = false
	l.late.conns--
}

// forget takes a connection out of the epoll instance that it is in.
func (l *Loop) forget(c *Conn) {
	ep := l.ep
	if c.sock.pace.late {
		ep, c.sock.pace.late = l.late.ep, false
		l.late.conns--
	}
	_ = unix.EpollCtl(ep, unix.EPOLL_CTL_DEL, c.sock.fd, nil) // it is open until Serve has returned
}

func (l *Loop) setTimer() {
	t := unix.ItimerSpec{Value: unix.NsecToTimespec(l.late.nap)}
	_ = unix.TimerfdSettime(l.late.timer, 0, &t, nil) // it takes any time
}

// look reads what has come on the connections that are read late.
func (l *Loop) look() {
	if l.late.conns == 0 {
		return
	}
	l.setTimer()
	for n := maxEvents; n == maxEvents; {
		n, _ = l.take(l.late.ep)
	}
	l.decide(clock.Now())
}
