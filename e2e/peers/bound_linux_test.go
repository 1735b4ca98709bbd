package peers

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit"
)

// parentOnly is set in the environment of the process that is killed.
const parentOnly = "REDLINE_TEST_PARENT"

// A process that is killed takes the servers that it has started with it. The test starts itself as that process.
func TestAServerEndsWithItsKilledParent(t *testing.T) {
	if os.Getenv(parentOnly) != "" {
		parent(t)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), parentOnly+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for end := time.Now().Add(testkit.Limit); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d runs on after its parent was killed", pid)
		}
	}
}

// parent starts a process, prints its number and waits to be killed.
func parent(t *testing.T) {
	sleep := exec.Command("sleep", "300")
	exited := make(chan error, 1)
	if err := StartBound(sleep, (*exec.Cmd).Start, exited); err != nil {
		t.Fatal(err)
	}
	fmt.Println(sleep.Process.Pid)
	t.Fatal(<-exited)
}

// A server lives on when other threads of its parent end, as those of a network namespace do.
func TestAServerOutlivesThreads(t *testing.T) {
	sleep := exec.Command("sleep", "300")
	exited := make(chan error, 1)
	if err := StartBound(sleep, (*exec.Cmd).Start, exited); err != nil {
		t.Fatal(err)
	}
	const count = 64
	ids, over := make(chan int, count), make(chan struct{})
	for range count {
		go func() {
			runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
			ids <- syscall.Gettid()
			<-over
		}()
	}
	var threads []int
	for range count {
		threads = append(threads, <-ids)
	}
	close(over)
	for _, id := range threads { // Go keeps the first thread of a process
		for id != os.Getpid() && exists(fmt.Sprintf("/proc/self/task/%d", id)) {
			time.Sleep(time.Millisecond)
		}
	}
	_ = sleep.Process.Signal(syscall.SIGTERM) // how it ended says whether it still ran
	if err := <-exited; err == nil || err.Error() != "signal: terminated" {
		t.Errorf("it did not run until it was terminated: %v", err)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// alive reports whether a process runs; one that has ended and waits for its parent does not.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := text[strings.LastIndexByte(string(text), ')')+2]
	return state != 'Z' && state != 'X'
}
