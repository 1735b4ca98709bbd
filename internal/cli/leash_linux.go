package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/service/tritoncapi"
)

// orphaned is the signal that redline-native gets when the process that started it has died.
const orphaned = syscall.SIGUSR1

// leash lets a child know when we die, however that happens: it would not see a kill otherwise, and a server that starts
// in process listens to nobody for minutes. The kernel sends the signal when the thread that started the child ends, so
// that stays ours until release.
func leash(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: orphaned}
	return runtime.UnlockOSThread
}

// endWithLauncher ends this process when the one that started it on a leash has died. What a server in process has
// started is taken along.
func endWithLauncher() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, orphaned)
	go func() {
		<-c
		tritoncapi.Sweep(os.Getpid())
		os.Exit(command.ExitError)
	}()
}
