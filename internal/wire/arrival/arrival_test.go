package arrival

import (
	"testing"
	"time"
)

// clocks is a pair of clocks in a test's hands.
type clocks struct {
	now, ahead int64
	pause      []int64 // between the readings of the wall clock and the other one
}

func (c *clocks) read() (now, wall int64) {
	wall = c.now + c.ahead
	if len(c.pause) > 0 {
		c.now += c.pause[0]
		c.pause = c.pause[1:]
	}
	return c.now, wall
}

const ms = int64(time.Millisecond)

func newScale(c *clocks) *Scale {
	s := &Scale{read: c.read}
	s.Look()
	return s
}

func TestNotesBecomeTimes(t *testing.T) {
	c := &clocks{now: 1000 * ms, ahead: 5_000_000 * ms}
	s := newScale(c)
	wall := func(now int64) int64 { return now + c.ahead }
	var l Line
	f := func(what string, note, now, want int64) {
		t.Helper()
		if got := l.Time(s, -1, note, now); got != want {
			t.Errorf("%s: %d us, want %d", what, got/1000, want/1000)
		}
	}
	f("no note", 0, 1001*ms, 1001*ms)
	f("half a millisecond unread", wall(1002*ms), 1002*ms+ms/2, 1002*ms)
	f("50 ms unread", wall(1003*ms), 1053*ms, 1003*ms)
	f("a little after the read", wall(1054*ms+slack), 1054*ms, 1054*ms)
	f("long after the read", wall(1099*ms), 1055*ms, 1055*ms)
	f("a little before the last", wall(1055*ms-slack), 1056*ms, 1055*ms)
	f("long before the last", wall(1001*ms), 1057*ms, 1057*ms)
}

// After a loss, what came behind it was noted before it could be read. Where no segment came out of order since, an old
// note is a late read.
func TestOldNotesAfterDisorder(t *testing.T) {
	c := &clocks{now: 1000 * ms, ahead: 5_000_000 * ms}
	s := newScale(c)
	l := Line{shuffled: 1} // the count that a descriptor of nothing has is 0: it changed
	if got := l.Time(s, -1, c.now+c.ahead, c.now+200*ms); got != c.now+200*ms {
		t.Errorf("out of order: %d us, want the time of the read", got/1000)
	}
	c.now += 300 * ms
	if got := l.Time(s, -1, c.now+c.ahead, c.now+50*ms); got != c.now {
		t.Errorf("in order again: %d us, want %d", got/1000, c.now/1000)
	}
	l = Line{shuffled: 1}
	if got := l.Time(s, -1, c.now+c.ahead, c.now+ms/2); got != c.now {
		t.Errorf("a fresh note: %d us, want %d", got/1000, c.now/1000)
	}
}

func TestScaleFollowsSteps(t *testing.T) {
	for _, step := range []int64{3600 * 1000 * ms, -3600 * 1000 * ms, 20 * ms, -20 * ms} {
		c := &clocks{now: 1000 * ms, ahead: 5_000_000 * ms}
		s := newScale(c)
		var l Line
		note := c.now + c.ahead // from before the step
		c.now += 10 * ms
		c.ahead += step
		s.Look()
		if got := l.Time(s, -1, note, c.now); got != c.now {
			t.Errorf("step of %d ms: a note from before it gives %d us, want the time of the read, %d", step/ms, got/1000, c.now/1000)
		}
		c.now += mistrust
		s.Look()
		note = c.now + c.ahead
		if got := l.Time(s, -1, note, c.now+ms/2); got != c.now {
			t.Errorf("step of %d ms: a second later a note gives %d us, want %d", step/ms, got/1000, c.now/1000)
		}
	}
}

func TestPauseIsNoStep(t *testing.T) {
	c := &clocks{now: 1000 * ms, ahead: 5_000_000 * ms, pause: []int64{0, 7 * ms}}
	s := newScale(c)
	s.Look() // pauses between the two clocks
	var l Line
	if got := l.Time(s, -1, c.now+c.ahead-ms/2, c.now); got != c.now-ms/2 {
		t.Errorf("%d us, want %d", got/1000, (c.now-ms/2)/1000)
	}
}

func TestFirstLookMayPause(t *testing.T) {
	c := &clocks{now: 1000 * ms, ahead: 5_000_000 * ms, pause: []int64{slack / 2}}
	s := newScale(c)
	s.Look()
	if s.offset != c.ahead || s.until != 0 {
		t.Errorf("offset %d, want %d; mistrust until %d", s.offset, c.ahead, s.until)
	}
}
