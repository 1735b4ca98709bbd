package disturbance

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of CPU times in /proc: USER_HZ, which is 100 per second on every Linux platform that Go supports.
const tick = 10 * time.Millisecond

// Watch records what happens on the machine from Start to Stop.
type Watch struct {
	begun time.Time
	start counters
	quit  chan struct{}
	done  chan samples
}

// counters are the machine's totals at one moment.
type counters struct {
	busy, steal time.Duration // of all cores
	own         time.Duration // of this process and its descendants
	pressure    time.Duration
}

// samples are what the watching thread saw.
type samples struct {
	runnable   []int
	standstill time.Duration
}

// Start begins to watch.
func Start() *Watch {
	w := &Watch{begun: time.Now(), quit: make(chan struct{}), done: make(chan samples, 1)}
	w.start = readCounters()
	go w.sample()
	return w
}

// Stop ends watching and returns what happened.
func (w *Watch) Stop() Report {
	close(w.quit)
	seen := <-w.done
	end := readCounters()
	wall := time.Since(w.begun)
	foreign := end.busy - w.start.busy - (end.own - w.start.own)
	slices.Sort(seen.runnable)
	return Report{
		Wall:          wall,
		ForeignCores:  max(0, (foreign-3*tick).Seconds()/wall.Seconds()), // the counters are exact to a few ticks
		StealShare:    (end.steal - w.start.steal).Seconds() / (wall.Seconds() * float64(runtime.NumCPU())),
		Standstill:    seen.standstill,
		Runnable:      seen.runnable[len(seen.runnable)/2],
		PressureShare: (end.pressure - w.start.pressure).Seconds() / wall.Seconds(),
	}
}

// sample sleeps for 5 ms at a time on a thread of its own and notes by how much the sleep was too long. The time that
// the thread then waited on a run queue is subtracted: the test's own threads may have caused it.
func (w *Watch) sample() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nap = 5 * time.Millisecond
	s := samples{runnable: []int{readRunnable()}}
	waited := readRunDelay()
	for {
		select {
		case <-w.quit:
			w.done <- s
			return
		default:
		}
		from := time.Now()
		ts := unix.NsecToTimespec(int64(nap))
		// An interrupted sleep is short, which is harmless.
		_ = unix.Nanosleep(&ts, nil)
		late := time.Since(from) - nap
		now := readRunDelay()
		s.standstill = max(s.standstill, late-(now-waited))
		waited = now
		s.runnable = append(s.runnable, readRunnable())
	}
}

func readCounters() counters {
	var c counters
	stat := fields("/proc/stat", "cpu ")
	// user nice system idle iowait irq softirq steal. Interrupts are left out: the test's own network traffic causes them.
	c.busy = ticks(stat, 0) + ticks(stat, 1) + ticks(stat, 2)
	c.steal = ticks(stat, 7)
	c.own = ownTime()
	if some := fields("/proc/pressure/cpu", "some "); len(some) == 4 {
		us, _ := strconv.ParseInt(strings.TrimPrefix(some[3], "total="), 10, 64)
		c.pressure = time.Duration(us) * time.Microsecond
	}
	return c
}

// ownTime is the CPU time of this process, its living descendants, and those descendants that have ended and were
// waited for.
func ownTime() time.Duration {
	type process struct {
		parent int
		time   time.Duration
	}
	all := map[int]process{}
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name of the program stands in parentheses and may hold spaces.
		after := bytes.LastIndex(text, []byte(") ")) + 1
		f := strings.Fields(string(text[after:])) // state ppid … utime stime cutime cstime
		if len(f) < 15 {
			continue
		}
		parent, _ := strconv.Atoi(f[1])
		all[pid] = process{parent, ticks(f, 11) + ticks(f, 12) + ticks(f, 13) + ticks(f, 14)}
	}
	var sum time.Duration
	self := os.Getpid()
	for pid, p := range all {
		for at, depth := pid, 0; at > 0 && depth < 64; at, depth = all[at].parent, depth+1 {
			if at == self {
				sum += p.time
				break
			}
		}
	}
	return sum
}

// readRunnable is the number of threads on all cores that run or want to.
func readRunnable() int {
	f := fields("/proc/stat", "procs_running ")
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(f[0])
	return n
}

// readRunDelay is how long the calling thread has waited on run queues so far.
func readRunDelay() time.Duration {
	text, _ := os.ReadFile("/proc/thread-self/schedstat")
	f := strings.Fields(string(text))
	if len(f) < 2 {
		return 0
	}
	ns, _ := strconv.ParseInt(f[1], 10, 64)
	return time.Duration(ns)
}

// fields returns the words behind a line's first word.
func fields(path, first string) []string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, first); ok {
			return strings.Fields(rest)
		}
	}
	return nil
}

func ticks(f []string, i int) time.Duration {
	if i >= len(f) {
		return 0
	}
	n, _ := strconv.ParseInt(f[i], 10, 64)
	return time.Duration(n) * tick
}
