package peers

import (
	"os/exec"
	"runtime"
	"syscall"
)

// StartBound starts a process, by a function such as (*exec.Cmd).Start, that is killed when this one ends, however that ends, and
// sends to exited how it ended. The kernel kills it when the thread that started it ends, so a goroutine keeps the thread for as long as
// the process runs.
func StartBound(cmd *exec.Cmd, start func(*exec.Cmd) error, exited chan<- error) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := start(cmd)
		started <- err
		if err == nil {
			exited <- cmd.Wait()
		}
	}()
	return <-started
}
