package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/unit"
)

// cpuQuota checks whether the cgroup of the process limits its CPU time. A group that has used up its quota does not run until the
// next period, usually 100 ms, and every request in flight seems slower by that time.
func cpuQuota(root fs.FS, cpus int) Check {
	const name = "CPU quota"
	groups := line(root, "proc/self/cgroup")
	if groups == "" {
		return unknown(name)
	}
	cores, throttled := 0.0, 0
	for _, dir := range cgroups(groups) {
		if q := quota(root, dir); q > 0 && (cores == 0 || q < cores) {
			cores, throttled = q, counter(root, path.Join(dir, "cpu.stat"), "nr_throttled")
		}
	}
	if cores == 0 || cores >= float64(cpus) {
		return Check{name, OK, fmt.Sprintf("none below the %s", unit.Count(cpus, "core")), ""}
	}
	c := Check{name, Warn, fmt.Sprintf("%.3g of %s", cores, unit.Count(cpus, "core")), ""}
	if throttled > 0 {
		c.Found += fmt.Sprintf("; the process group was stopped %s", unit.Count(throttled, "time"))
	}
	if cores < 1 {
		c.State = Bad
	}
	c.Fix = "run without a CPU limit (Docker: without --cpus; Kubernetes: without resources.limits.cpu), or with one far above the load's need"
	return c
}

// cgroups lists the folders that can limit the process, from its own up to the root: those of version 2 and, in version 1,
// of the controller cpu.
func cgroups(text string) []string {
	var dirs []string
	for entry := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(entry), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var tops []string
		switch names := strings.Split(parts[1], ","); {
		case parts[1] == "":
			tops = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case slices.Contains(names, "cpu"):
			tops = []string{"sys/fs/cgroup/cpu", "sys/fs/cgroup/" + parts[1]}
		}
		for _, top := range tops {
			for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
				dirs = append(dirs, path.Join(top, dir))
				if dir == "/" {
					break
				}
			}
		}
	}
	return dirs
}

// quota is the number of cores that a cgroup may use; 0 means no limit.
func quota(root fs.FS, dir string) float64 {
	most, period, ok := strings.Cut(line(root, path.Join(dir, "cpu.max")), " ")
	if !ok {
		most, period = line(root, path.Join(dir, "cpu.cfs_quota_us")), line(root, path.Join(dir, "cpu.cfs_period_us"))
	}
	used, err := strconv.ParseFloat(most, 64) // "max" and -1 are no limit
	of, perr := strconv.ParseFloat(period, 64)
	if err != nil || perr != nil || used <= 0 || of <= 0 {
		return 0
	}
	return used / of
}

// counter is one value of a file with lines of a name and a number; 0 if it is missing.
func counter(root fs.FS, file, name string) int {
	for text := range strings.Lines(line(root, file)) {
		if fields := strings.Fields(text); len(fields) == 2 && fields[0] == name {
			n, _ := strconv.Atoi(fields[1])
			return n
		}
	}
	return 0
}

// frequency checks whether cores change their speed with the load.
func frequency(root fs.FS) Check {
	const name = "CPU frequency"
	files, err := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	if err != nil || len(files) == 0 {
		c := unknown(name)
		if line(root, "proc/self/cgroup") != "" {
			c.Found += ": most virtual machines do not tell"
		}
		return c
	}
	var slow []string
	for _, f := range files {
		if g := line(root, f); g != "performance" && !slices.Contains(slow, g) {
			slow = append(slow, g)
		}
	}
	if len(slow) == 0 {
		return Check{name, OK, "governor performance on every core", ""}
	}
	slices.Sort(slow)
	return Check{
		name, Warn, "governor " + strings.Join(slow, ", ") + ": cores slow down when there is little to do",
		"run 'cpupower frequency-set -g performance' as root",
	}
}

// clockSource checks that the kernel reads the time without a system call. cost is what one reading took.
func clockSource(root fs.FS, cost time.Duration) Check {
	const name, slow = "clock", time.Microsecond
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source := line(root, dir+"current_clocksource")
	c := Check{name, OK, fmt.Sprintf("one reading takes %d ns", cost.Nanoseconds()), ""}
	if source == "" {
		c.State = Unknown
		c.Found = "source " + notKnown + "; " + c.Found
	} else {
		c.Found = source + "; " + c.Found
	}
	if cost < slow && source != "hpet" && source != "acpi_pm" && source != "jiffies" {
		return c
	}
	c.State = Warn
	c.Fix = "boot with the kernel option tsc=reliable, or use a machine with a stable TSC"
	if slices.Contains(strings.Fields(line(root, dir+"available_clocksource")), "tsc") && source != "tsc" {
		c.Fix = "run 'echo tsc > /" + dir + "current_clocksource' as root"
	}
	return c
}

// arrivalTimes checks whether the kernel records when data arrives.
func arrivalTimes(stamped bool, err error) Check {
	const name = "receive times"
	switch {
	case err != nil:
		c := unknown(name)
		c.Found = err.Error()
		return c
	case !stamped:
		return Check{
			name, Warn, "the kernel does not note when data arrives, so that token times include the client's own delays",
			"run on Linux outside of sandboxes such as gVisor",
		}
	}
	return Check{name, OK, "the kernel notes when data arrives", ""}
}
