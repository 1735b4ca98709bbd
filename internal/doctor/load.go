package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/unit"
)

// usage is the CPU time that was used since the machine started, in ticks of the kernel (10 ms).
type usage struct {
	known              bool
	busy, stolen, idle int64 // of all cores; busy has no stolen time
	own                int
	processes          map[int]process
}

// process is one process and the CPU time that it has used.
type process struct {
	name  string
	ticks int64
}

// readUsage reads the counters of the machine and of all processes that can be seen.
func readUsage(root fs.FS) usage {
	var u usage
	first, _, _ := strings.Cut(line(root, "proc/stat"), "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return u
	}
	for i, text := range fields[1:9] { // user nice system idle iowait irq softirq steal
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return usage{}
		case i == 3 || i == 4:
			u.idle += n
		case i == 7:
			u.stolen = n
		default:
			u.busy += n
		}
	}
	u.known, u.processes = true, map[int]process{}
	files, _ := fs.Glob(root, "proc/[0-9]*/stat") // the pattern is good
	for _, f := range files {
		pid, err := strconv.Atoi(path.Base(path.Dir(f)))
		text, rerr := fs.ReadFile(root, f)
		if p, ok := readProcess(text); err == nil && rerr == nil && ok {
			u.processes[pid] = p
		}
	}
	if text, err := fs.ReadFile(root, "proc/self/stat"); err == nil {
		pid, _, _ := bytes.Cut(text, []byte(" "))
		u.own, _ = strconv.Atoi(string(pid))
	}
	return u
}

// readProcess reads a file stat of a process: "PID (NAME) STATE ...". The name can hold any character.
func readProcess(text []byte) (process, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 13 {
		return process{}, false
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, serr := strconv.ParseInt(fields[12], 10, 64)
	return process{cleantext.Cut(string(text[open+1:end]), 32), user + system}, err == nil && serr == nil
}

// total is the time of all cores between two readings.
func total(before, after usage) float64 {
	return float64(after.busy - before.busy + after.stolen - before.stolen + after.idle - before.idle)
}

// steal checks how much of the cores' time the hypervisor gave to other machines.
func steal(before, after usage) Check {
	const name = "steal"
	all := total(before, after)
	if !before.known || !after.known || all <= 0 {
		return unknown(name)
	}
	share := 100 * float64(after.stolen-before.stolen) / all
	c := Check{name, OK, fmt.Sprintf("%.1f %% of the cores' time went to other virtual machines", share), ""}
	if share >= 1 {
		c.State, c.Fix = Warn, "use an instance type with cores of its own, or a physical machine"
	}
	if share >= 10 {
		c.State = Bad
	}
	return c
}

// otherLoad checks what other programs use, and names the busiest.
func otherLoad(before, after usage, cpus int) Check {
	const name = "other load"
	all := total(before, after)
	if !before.known || !after.known || all <= 0 {
		return unknown(name)
	}
	cores := func(ticks int64) float64 { return float64(ticks) / all * float64(cpus) }
	own := after.processes[after.own].ticks - before.processes[before.own].ticks
	used := max(0, cores(after.busy-before.busy-own))
	c := Check{name, OK, fmt.Sprintf("other programs use %.2f of %s", used, unit.Count(cpus, "core")), ""}
	if used <= 0.1*float64(cpus) {
		return c
	}
	c.State, c.Fix = Warn, "stop other programs, or keep them off the cores of the client with taskset"
	if used > 0.5*float64(cpus) {
		c.State = Bad
	}
	names := convert.All(busiest(before, after), func(b busy) string {
		return fmt.Sprintf("%s (process %d) %.2f", b.name, b.pid, cores(b.ticks))
	})
	if len(names) > 0 {
		c.Found += "; the busiest are " + strings.Join(names, ", ")
	}
	return c
}

// busy is a process and what it used between two readings.
type busy struct {
	process
	pid int
}

// busiest are up to three processes that used the most, of those that used something.
func busiest(before, after usage) []busy {
	var list []busy
	for pid, p := range after.processes {
		if p.ticks -= before.processes[pid].ticks; p.ticks > 0 && pid != after.own {
			list = append(list, busy{p, pid})
		}
	}
	slices.SortFunc(list, func(a, b busy) int { return cmp.Or(cmp.Compare(b.ticks, a.ticks), cmp.Compare(a.pid, b.pid)) })
	return list[:min(3, len(list))]
}
