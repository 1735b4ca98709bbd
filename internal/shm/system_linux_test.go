package shm_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/internal/shm"
)

// childEnv makes the test binary act as a second process: what the variable names is done instead of the tests.
const childEnv = "REDLINE_SHM_CHILD"

func TestMain(m *testing.M) {
	what, arg, _ := strings.Cut(os.Getenv(childEnv), " ")
	var err error
	switch what {
	case "":
		os.Exit(m.Run())
	case "hold":
		err = hold(arg)
	case "open":
		err = openHandles(arg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts this binary as a second process.
func child(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// hold makes a region, tells its key and waits until its standard input ends, or until it is killed.
func hold(name string) error {
	r, err := shm.Create(shm.System, name, 8192)
	if err != nil {
		return err
	}
	fmt.Println(r.Key())
	bufio.NewReader(os.Stdin).ReadString('\n')
	return r.Close()
}

func TestSystem(t *testing.T) {
	r, err := shm.Create(shm.System, "TestSystem/in", 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := fmt.Sprintf("/redline-%d-TestSystemin", os.Getpid())
	if r.Key() != want || r.Handle() != nil || r.Size() != 1000 || r.Kind() != shm.System || r.Name() != "TestSystem/in" {
		t.Errorf("key %q, handle %v, size %d, kind %v, name %q", r.Key(), r.Handle(), r.Size(), r.Kind(), r.Name())
	}
	path := "/dev/shm" + r.Key()
	// What the server does with the key: it opens the object and maps it; reading the file sees the same pages.
	copy(r.Bytes()[500:], "seen")
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 1000 || string(data[500:504]) != "seen" {
		t.Fatalf("the object holds %d bytes, %q: %v", len(data), data[500:504], err)
	}
	other, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.WriteAt([]byte("answer"), 600); err != nil {
		t.Fatal(err)
	}
	other.Close()
	if got := r.Bytes()[600:606]; string(got) != "answer" {
		t.Errorf("what another wrote reads %q", got)
	}
	clear(r.Bytes())
	checkReadWrite(t, r)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after close: %v", err)
	}
}

func TestSystemTwiceTheSameName(t *testing.T) {
	r, err := shm.Create(shm.System, "TestTwice", 10)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if again, err := shm.Create(shm.System, "TestTwice", 10); err == nil {
		again.Close()
		t.Error("a region in use was created again")
	}
}

func TestSystemLongName(t *testing.T) {
	var keys []string
	for _, end := range []string{"a", "b"} {
		r, err := shm.Create(shm.System, strings.Repeat("x", 300)+end, 10)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		keys = append(keys, r.Key())
	}
	if keys[0] == keys[1] {
		t.Errorf("two names, one key: %q", keys[0])
	}
}

func TestSystemTooLarge(t *testing.T) {
	r, err := shm.Create(shm.System, "TestTooLarge", 1<<50)
	if err == nil {
		r.Close()
		t.Fatal("a pebibyte was created")
	}
	if left, _ := filepath.Glob("/dev/shm/redline-*-TestTooLarge"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// waitUnlocked returns when nobody holds the lock of a file: some kernels drop a killed process's locks a moment after its
// end.
func waitUnlocked(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return // another process has removed it already
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

func TestRemoveStale(t *testing.T) {
	mine, err := shm.Create(shm.System, "TestStale-mine", 10)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	start := func(name string) (*exec.Cmd, string, func()) {
		t.Helper()
		cmd := child(t, "hold "+name)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		key, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return cmd, strings.TrimSpace(key), func() { in.Close() }
	}
	alive, aliveKey, end := start("TestStale-alive")
	dead, deadKey, _ := start("TestStale-dead")
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	dead.Wait()
	stranger := filepath.Join("/dev/shm", fmt.Sprintf("redline-stranger-%d", os.Getpid()))
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(stranger)

	waitUnlocked(t, "/dev/shm"+deadKey)
	removed := shm.RemoveStale()
	for _, key := range []string{mine.Key(), aliveKey, "/" + filepath.Base(stranger)} {
		if slices.Contains(removed, key) {
			t.Errorf("%s was removed", key)
		}
		if _, err := os.Stat("/dev/shm" + key); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat("/dev/shm" + deadKey); !os.IsNotExist(err) {
		t.Errorf("the dead process's object: %v", err)
	}
	end()
	if err := alive.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/dev/shm" + aliveKey); !os.IsNotExist(err) {
		t.Errorf("after a clean end: %v", err)
	}
}

// A crashed run whose process id came round again must not be in the way.
func TestCreateReplacesStale(t *testing.T) {
	path := fmt.Sprintf("/dev/shm/redline-%d-TestReplaces", os.Getpid())
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := shm.Create(shm.System, "TestReplaces", 3)
	if err != nil {
		os.Remove(path)
		t.Fatal(err)
	}
	defer r.Close()
	if string(r.Bytes()) == "old" {
		t.Error("the region holds a dead run's bytes")
	}
}
