package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree is a file system with the given files.
func tree(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// expect holds the state of a check, a part of its finding, and a part of its fix; a check without a fix has none.
func expect(t *testing.T, c Check, state State, found, fix string) {
	t.Helper()
	if c.State != state || !strings.Contains(c.Found, found) || !strings.Contains(c.Fix, fix) || (fix == "") != (c.Fix == "") {
		t.Errorf("%+v; want %s, %q, fix %q", c, state, found, fix)
	}
}

func TestOpenFiles(t *testing.T) {
	f := func(limits string, state State, found, fix string) {
		t.Helper()
		expect(t, openFiles(tree(map[string]string{"proc/self/limits": limits})), state, found, fix)
	}
	const head = "Limit   Soft Limit   Hard Limit   Units\nMax processes  9  9  processes\n"
	f(head+"Max open files            1024                 524288               files\n", OK, "524224 connections", "")
	f(head+"Max open files  1024  unlimited  files\n", OK, "no limit", "")
	f(head+"Max open files  1024  4096  files\n", Warn, "at most 4096", "ulimit -Hn")
	f(head+"Max open files  256  256  files\n", Bad, "at most 256, enough for 192", "ulimit -Hn")
	f(head, Unknown, notKnown, "")
	f("Max open files  x  y  files\n", Unknown, notKnown, "")
	expect(t, openFiles(tree(nil)), Unknown, notKnown, "")
}

func TestLocalPorts(t *testing.T) {
	f := func(ports, sockets string, state State, found, fix string) {
		t.Helper()
		files := map[string]string{"proc/sys/net/ipv4/ip_local_port_range": ports, "proc/net/sockstat": sockets}
		expect(t, localPorts(tree(files)), state, found, fix)
	}
	f("32768\t60999\n", "", OK, "28232 for connections", "")
	f("32768\t60999\n", "sockets: used 39\nTCP: inuse 4 orphan 0 tw 12 alloc 7 mem 210\n", OK, "closed connections still use 12", "")
	f("32768\t60999\n", "TCP: inuse 4 orphan 0 tw 20000 alloc 7 mem 210\n", Warn, "still use 20000", "tcp_tw_reuse")
	f("60000\t60999\n", "", Warn, "1000 for", "ip_local_port_range")
	f("rubbish", "", Unknown, notKnown, "")
	expect(t, localPorts(tree(nil)), Unknown, notKnown, "")
}

func TestCPUQuota(t *testing.T) {
	f := func(state State, found, fix string, files map[string]string) {
		t.Helper()
		expect(t, cpuQuota(tree(files), 8), state, found, fix)
	}
	f(Unknown, notKnown, "", nil)
	f(OK, "none below the 8 cores", "", map[string]string{"proc/self/cgroup": "0::/\n"})
	f(OK, "none below", "", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n"})
	f(OK, "none below", "", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "1600000 100000\n"})
	// The limit of a parent counts, and the tightest one wins.
	f(Warn, "2.5 of 8 cores; the process group was stopped 7 times", "without a CPU limit", map[string]string{
		"proc/self/cgroup": "0::/pod/app\n", "sys/fs/cgroup/pod/app/cpu.max": "400000 100000\n",
		"sys/fs/cgroup/pod/cpu.max": "250000 100000\n", "sys/fs/cgroup/pod/cpu.stat": "usage_usec 5\nnr_throttled 7\n",
	})
	f(Bad, "0.5 of 8 cores", "without a CPU limit", map[string]string{
		"proc/self/cgroup": "4:memory:/x\n2:cpu,cpuacct:/docker/ab\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
	})
	f(OK, "none below", "", map[string]string{
		"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
	})
}

func TestFrequency(t *testing.T) {
	f := func(state State, found, fix string, governors ...string) {
		t.Helper()
		files := map[string]string{"proc/self/cgroup": "0::/\n"}
		for i, g := range governors {
			files[fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", i)] = g + "\n"
		}
		expect(t, frequency(tree(files)), state, found, fix)
	}
	f(OK, "performance", "", "performance", "performance")
	f(Warn, "governor powersave, schedutil:", "cpupower", "schedutil", "performance", "powersave", "schedutil")
	f(Unknown, "virtual machines", "")
	expect(t, frequency(tree(nil)), Unknown, notKnown, "")
}

func TestClockSource(t *testing.T) {
	f := func(current, available string, cost time.Duration, state State, found, fix string) {
		t.Helper()
		const dir = "sys/devices/system/clocksource/clocksource0/"
		expect(t, clockSource(tree(map[string]string{dir + "current_clocksource": current, dir + "available_clocksource": available}), cost), state, found, fix)
	}
	f("tsc\n", "tsc hpet\n", 40, OK, "tsc; one reading takes 40 ns", "")
	f("kvm-clock\n", "kvm-clock\n", 60, OK, "kvm-clock", "")
	f("hpet\n", "tsc hpet acpi_pm\n", 900, Warn, "hpet", "echo tsc >")
	f("acpi_pm\n", "acpi_pm\n", 3000, Warn, "3000 ns", "tsc=reliable")
	f("xen\n", "xen tsc\n", 1200, Warn, "xen", "echo tsc >")
	expect(t, clockSource(tree(nil), 30), Unknown, notKnown, "")
}

func TestOtherChecks(t *testing.T) {
	expect(t, arrivalTimes(true, nil), OK, "notes", "")
	expect(t, arrivalTimes(false, nil), Warn, "does not note", "gVisor")
	expect(t, arrivalTimes(false, errUnsupported), Unknown, notKnown, "")
	const mib = 1 << 20
	expect(t, sharedSpace(64*mib, 60*mib, nil), Warn, "60 MiB free of 64 MiB", "--shm-size")
	expect(t, sharedSpace(24<<30, 20<<30, nil), OK, "20 GiB free of 24 GiB", "")
	expect(t, sharedSpace(0, 0, errUnsupported), Unknown, notKnown, "")
}

// stat is the line of a process.
func stat(pid int, name string, ticks int) string {
	return fmt.Sprintf("%d (%s) R 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0", pid, name, ticks)
}

func TestLoadOfOthers(t *testing.T) {
	at := func(cpu string, own, first, second int) usage {
		return readUsage(tree(map[string]string{
			"proc/stat": cpu + "\ncpu0 1 2 3 4\n", "proc/self/stat": stat(7, "redline", own), "proc/7/stat": stat(7, "redline", own),
			"proc/8/stat": stat(8, "a (b) c", first), "proc/9/stat": stat(9, "idle", second), "proc/10/stat": "rubbish",
		}))
	}
	before := at("cpu 100 0 50 1000 10 0 0 40 0 0", 5, 20, 3)
	f := func(after usage, stealState State, stolen string, loadState State, load string) {
		t.Helper()
		fix := func(s State, text string) string { return map[bool]string{true: text}[s != OK] }
		expect(t, steal(before, after), stealState, stolen, fix(stealState, "instance type"))
		expect(t, otherLoad(before, after, 4), loadState, load, fix(loadState, "taskset"))
	}
	// 400 ticks pass on four cores.
	f(at("cpu 105 0 55 1390 10 0 0 40 0 0", 15, 20, 3), OK, "0.0 %", OK, "other programs use 0.00 of 4 cores")
	f(at("cpu 260 0 50 1232 10 0 0 48 0 0", 5, 170, 3), Warn, "2.0 %", Warn, "use 1.60 of 4 cores; the busiest are a (b) c (process 8) 1.50")
	f(at("cpu 400 0 50 1040 10 0 0 100 0 0", 5, 320, 3), Bad, "15.0 %", Bad, "use 3.00 of 4 cores")
	none := readUsage(tree(nil))
	expect(t, steal(none, none), Unknown, notKnown, "")
	expect(t, otherLoad(none, none, 4), Unknown, notKnown, "")
	expect(t, steal(before, before), Unknown, notKnown, "") // no time has passed
}

func TestServer(t *testing.T) {
	good := Answer{URL: "gpu:8000", What: "triton 2.51.0, KServe v2 over HTTP", Took: 400 * time.Microsecond, Models: 3}
	expect(t, Server(good), OK, "triton 2.51.0, KServe v2 over HTTP at gpu:8000 answers in 400 µs; 3 models", "")
	local, missing, away := good, good, good
	local.Local, missing.Broken, away.Took = true, 1, 25*time.Millisecond
	expect(t, Server(local), Warn, "on this machine", "taskset")
	expect(t, Server(missing), Warn, "3 models, 1 could not be loaded", "redline inspect -u gpu:8000")
	expect(t, Server(away), Warn, "25.0 ms", "near the server")
	expect(t, Server(Answer{Err: errors.New("no connection\x1b[2J to x")}), Bad, "no connection [2J to x", "-u HOST:PORT")
}

// A machine of which nothing can be read has checks that say so, in the same order as everywhere.
func TestRunOnAnUnknownSystem(t *testing.T) {
	m := &Machine{
		Root: tree(nil), CPUs: 2, ReadClock: func() time.Duration { return 50 },
		Stamped:      func(context.Context) (bool, error) { return false, errUnsupported },
		SharedMemory: func() (uint64, uint64, error) { return 0, 0, errUnsupported },
	}
	list := m.Run(t.Context())
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
		if c.State != Unknown || !strings.Contains(c.Found, notKnown) {
			t.Errorf("%+v", c)
		}
	}
	want := []string{"open files", "local ports", "CPU quota", "CPU frequency", "steal", "other load", "clock", "receive times", "shared memory"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	if got := Worst(list); got != OK {
		t.Errorf("worst state %s", got)
	}
}

func TestHere(t *testing.T) {
	m := Here()
	m.Watch = 10 * time.Millisecond
	for _, c := range m.Run(t.Context()) {
		if c.Found == "" || (c.State == Warn || c.State == Bad) != (c.Fix != "") {
			t.Errorf("%+v", c)
		}
	}
}

func TestText(t *testing.T) {
	list := []Check{
		{"steal", OK, "0.0 % of the time", ""},
		{"CPU quota", Warn, "2 of 8 cores", strings.Repeat("word ", 25) + "end"},
		{"clock", Unknown, notKnown, ""},
	}
	var b bytes.Buffer
	Text(&b, list)
	want := `  ok       steal      0.0 % of the time
  warn     CPU quota  2 of 8 cores
                      fix: word word word word word word word word word word word word word word word word word word
                           word word word word word word word end
  unknown  clock      not known here

You can measure on this machine. Findings marked warn make results worse.
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	f := func(s State, want string) {
		t.Helper()
		b.Reset()
		Text(&b, []Check{{"a", s, "b", ""}})
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q lacks %q", s, b.String(), want)
		}
	}
	f(Bad, "fix them first")
	f(OK, "No problems found")
	if got := Worst(append(list, Check{State: Bad})); got != Bad {
		t.Errorf("worst state %s", got)
	}
}
