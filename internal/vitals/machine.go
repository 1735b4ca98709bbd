package vitals

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// machineTicks reads the first line of /proc/stat: user nice system idle iowait irq softirq steal, and more that is not counted. Stolen
// time counts as busy too.
func machineTicks() (busy, idle, steal uint64) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0, 0, 0
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[0] != "cpu" {
		return 0, 0, 0
	}
	for i, text := range fields[1:min(len(fields), 9)] {
		ticks, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, 0, 0
		}
		switch i {
		case 3, 4: // idle and waiting for disks
			idle += ticks
			continue
		case 7:
			steal = ticks
		}
		busy += ticks
	}
	return busy, idle, steal
}
