//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/testkit"
)

// TestMain is also the main function of the processes that tests start with role.
func TestMain(m *testing.M) {
	switch os.Getenv("REDLINE_TEST_ROLE") {
	case "launcher":
		p := &command.IO{Args: []string{"redline"}, Stdout: os.Stdout, Stderr: os.Stderr, Executable: func() (string, error) {
			return filepath.Join(os.Getenv("REDLINE_TEST_DIR"), "redline"), nil
		}}
		os.Exit(handOver(p, "test"))
	case "native":
		endWithLauncher()
		fmt.Println("ready")
		select {}
	default:
		os.Exit(m.Run())
	}
}

// role starts this test binary again in another role.
func role(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), "REDLINE_TEST_ROLE="+name), env...)
	return cmd
}

// redline-native does not outlive the process that started it, even if that is killed. Both processes hold the test's
// pipe, which ends when both have ended.
func TestNativeEndsWithItsLauncher(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho ready\nexec sleep 600\n"
	for name, text := range map[string]string{"redline": "", nativeName: script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.SetReadDeadline(time.Now().Add(testkit.Limit)); err != nil {
		t.Fatal(err)
	}
	launcher := role(t, "launcher", "REDLINE_TEST_DIR="+dir)
	launcher.Stdout = out
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if _, err := io.ReadFull(in, make([]byte, len("ready\n"))); err != nil {
		t.Fatalf("the child does not start: %v", err)
	}
	if err := launcher.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = launcher.Wait() // killed
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("the child goes on: %q, %v", rest, err)
	}
}

func TestOrphanEndsAtOnce(t *testing.T) {
	child := role(t, "native")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.ExitCode() != command.ExitError {
		t.Errorf("ended with %v", err)
	}
}
