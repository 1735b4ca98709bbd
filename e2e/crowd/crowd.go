// Package crowd tells whether other work competes for the machine's cores while a test measures.
package crowd

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Watch samples how many threads want a core until the returned function is called. That returns the samples in order
// of size; there is at least one.
func Watch() (samples func() []int) {
	quit, done := make(chan struct{}), make(chan []int)
	go func() {
		running := []int{runnable()}
		for {
			select {
			case <-quit:
				done <- running
				return
			case <-time.After(20 * time.Millisecond):
				running = append(running, runnable())
			}
		}
	}()
	return func() []int {
		close(quit)
		running := <-done
		slices.Sort(running)
		return running
	}
}

// runnable is the number of threads on all cores that run or could; 0 where the system does not tell.
func runnable() int {
	text, _ := os.ReadFile("/proc/stat")
	_, rest, _ := strings.Cut(string(text), "\nprocs_running ")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(line)
	return n
}
