//go:build !linux

package pause

func newSleeper() sleeper { return newTimerSleeper() }

func pin() (unpin func()) { return func() {} }
