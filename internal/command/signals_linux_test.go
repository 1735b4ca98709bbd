package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/pending"
)

// A second signal comes when the command has ended its watch, as the second SIGHUP of a terminal that closes may. It must not end the process:
// that would lose the exit code.
func TestALateSignal(t *testing.T) {
	const child = "REDLINE_TEST_SIGNAL"
	if number, err := strconv.Atoi(os.Getenv(child)); err == nil {
		p := &command.IO{Stdout: os.Stdout, Stderr: os.Stderr, Exit: os.Exit, Files: pending.New(nil)}
		sigs := p.WatchSignals(command.Loading)
		sendSelf(t, syscall.Signal(number))
		<-sigs.Soft.Done()
		sigs.Stop()
		sendSelf(t, syscall.Signal(number))
		os.Exit(command.ExitInterrupted)
	}
	hangups := make(chan os.Signal, 1) // the child gets the default action, also under nohup
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), child+"="+strconv.Itoa(int(sig)))
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != command.ExitInterrupted {
			t.Errorf("%v: the process ended with %v, want exit code %d\n%s", sig, err, command.ExitInterrupted, &out)
		}
	}
}

// sendSelf sends a signal to its own thread, so that the signal has been delivered when it returns.
func sendSelf(t *testing.T, sig syscall.Signal) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := syscall.Tgkill(os.Getpid(), syscall.Gettid(), sig); err != nil {
		t.Fatal(err)
	}
}
