package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/pending"
)

// The second SIGHUP of a terminal that closes comes when the command has ended its watch. It must not end the process: that would lose the exit code.
func TestALateHangup(t *testing.T) {
	const child = "REDLINE_TEST_HANGUP"
	if os.Getenv(child) != "" {
		p := &command.IO{Stdout: os.Stdout, Stderr: os.Stderr, Exit: os.Exit, Files: pending.New(nil)}
		sigs := p.WatchSignals(command.Loading)
		hangUp(t)
		<-sigs.Soft.Done()
		sigs.Stop()
		hangUp(t)
		os.Exit(command.ExitInterrupted)
	}
	hangups := make(chan os.Signal, 1) // the child gets the default action, also under nohup
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != command.ExitInterrupted {
		t.Errorf("the process ended with %v, want exit code %d\n%s", err, command.ExitInterrupted, &out)
	}
}

// hangUp sends SIGHUP to its own thread, so that the signal has been delivered when it returns.
func hangUp(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}
