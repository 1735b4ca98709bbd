package metrics

import (
	"bytes"
	"os"
	"strconv"
)

// machine adds the CPU and memory use of the whole machine, if the system reports it.
func machine(b []byte) []byte {
	total, available, ok := memory()
	if !ok {
		return b
	}
	add := func(name, help string, value string) {
		b = head(b, name, "gauge", help)
		b = append(b, name+" "+value+"\n"...)
	}
	if share, ok := busy(); ok {
		add("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", strconv.FormatFloat(share, 'g', 6, 64))
	}
	add("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", strconv.FormatUint(total, 10))
	add("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", strconv.FormatUint(total-available, 10))
	return b
}

// memory reads /proc/meminfo; false if there is none.
func memory() (total, available uint64, ok bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, false
	}
	for row := range bytes.Lines(text) {
		f := bytes.Fields(row)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseUint(string(f[1]), 10, 64) // in KiB; a line that is not a number is not ours
		switch string(f[0]) {
		case "MemTotal:":
			total = n << 10
		case "MemAvailable:":
			available = n << 10
		}
	}
	return total, available, total > 0
}

// busy is the share of time since boot that the processors were not idle; false if the system does not tell.
func busy() (float64, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	first, _, _ := bytes.Cut(text, []byte{'\n'})
	var all, idle float64
	for i, f := range bytes.Fields(first) {
		n, err := strconv.ParseFloat(string(f), 64)
		if err != nil {
			continue
		}
		all += n
		if i == 4 || i == 5 { // idle and waiting for disks
			idle += n
		}
	}
	return (all - idle) / max(all, 1), all > 0
}
