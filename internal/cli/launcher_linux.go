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

// notifyOnDeath makes the kernel send orphaned to the child when this process dies, even by SIGKILL. The kernel sends the
// signal when the thread that started the child ends, so the caller keeps that thread until release.
func notifyOnDeath(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: orphaned}
	return runtime.UnlockOSThread
}

// endWithLauncher ends this process when the process that started it with notifyOnDeath has died. It also removes what an
// in-process server has started.
func endWithLauncher() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, orphaned)
	go func() {
		<-c
		tritoncapi.Sweep(os.Getpid())
		os.Exit(command.ExitError)
	}()
}
