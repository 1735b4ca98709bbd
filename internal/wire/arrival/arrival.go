// Package arrival tells when bytes came to this machine, and not when the program got to reading them.
//
// A client that reads many streams on few cores reads one after the other, and every read waits for those before it.
// On Linux the kernel notes when each segment of a TCP connection comes in (SO_TIMESTAMPNS) and hands the note on with
// the read. So a time to first token is right even where the client was busy, or was not given the processor, when
// the token came; and the difference, the read lag, says how far the client was behind.
//
// What a time means:
//
//   - It is the arrival of the last byte that a read returned. Everything that the same read returned has that time:
//     it is never later than the read, and for the last event of the read never earlier than the truth. Where many
//     streams share a connection, reads are made in pieces with a note each (see Conn.Pieces).
//   - The kernel's notes are wall-clock times. A Scale turns them into readings of clock.Now; between two steps of the
//     wall clock the two differ by a constant. After a step no note is believed for a while.
//   - A segment that came before one that was lost carries a note from before it could be read. So where a note is long
//     before the read, and segments came out of order, the time of the read counts.
//   - Where there is no note, or one that cannot be right, the time of the read counts.
package arrival

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

const (
	// slack is how far two readings of the clocks may be apart without meaning anything.
	slack = int64(100 * time.Microsecond)
	// mistrust is how long notes are not used after a step of the wall clock: by then what came before it is read.
	mistrust = int64(time.Second)
	// suspect is the age from which a note is used only if no segment came out of order.
	suspect = int64(time.Millisecond)
)

// Scale turns wall-clock times into readings of clock.Now. The zero value is ready. It is not for several goroutines.
type Scale struct {
	offset int64 // wall clock minus clock.Now
	known  bool
	until  int64 // no note is used before this time
	read   func() (now, wall int64)
}

// Look compares the two clocks and returns clock.Now. It is to be called before the reads whose notes Time turns into
// times; once for many reads will do.
//
// The clocks are read one after the other, so that a pause in between makes the difference look smaller than it is, never
// larger: the largest is the best. One that is much smaller is tried again, to tell a pause from a step.
func (s *Scale) Look() int64 {
	if s.read == nil {
		s.read = clock.Both
	}
	now, wall := s.read()
	d := wall - now
	for range 3 {
		if !s.known || d >= s.offset-slack {
			break
		}
		now, wall = s.read()
		d = max(d, wall-now)
	}
	switch {
	case !s.known:
		s.offset, s.known = d, true
	case d > s.offset+slack, d < s.offset-slack:
		s.offset, s.until = d, now+mistrust
	case d > s.offset:
		s.offset = d
	}
	return now
}

// at turns a note into a reading of clock.Now, where it can be one of before now.
func (s *Scale) at(note, now int64) (int64, bool) {
	if note == 0 || !s.known || now < s.until {
		return 0, false
	}
	t := note - s.offset
	if t > now && t <= now+slack {
		t = now
	}
	return t, t <= now
}

// Line is what is known of one connection. The zero value is ready.
type Line struct {
	last     int64
	shuffled uint32 // segments that had come out of order when the kernel was asked last
}

// Time is when the last byte of a read came that was over at now and brought the kernel's note, which is 0 where there is
// none. Times of a line never go back.
func (l *Line) Time(s *Scale, fd int, note, now int64) int64 {
	list := [1]int64{note}
	l.Times(s, fd, list[:], now)
	return list[0]
}

// Times turns the notes of one read's pieces into their times.
func (l *Line) Times(s *Scale, fd int, notes []int64, now int64) {
	asked, disorder := false, false
	for i, note := range notes {
		t, ok := s.at(note, now)
		switch {
		case !ok, t < l.last-slack:
			t = now
		case now-t > suspect:
			if !asked {
				n := outOfOrder(fd)
				asked, disorder, l.shuffled = true, n != l.shuffled, n
			}
			if disorder {
				t = now
			}
		}
		l.last = max(l.last, t)
		notes[i] = l.last
	}
}
