package peers

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
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
	for end := time.Now().Add(time.Minute); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d runs on after its parent was killed", pid)
		}
	}
}

// parent starts a process, prints its number and waits to be killed. Other goroutines come and go meanwhile.
func parent(t *testing.T) {
	sleep := exec.Command("sleep", "300")
	exited := make(chan error, 1)
	if err := startBound(sleep, exited); err != nil {
		t.Fatal(err)
	}
	fmt.Println(sleep.Process.Pid)
	t.Fatal(<-exited)
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
