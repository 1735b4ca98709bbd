//go:build !linux

package peers

import "os/exec"

// StartBound starts a process, by a function such as (*exec.Cmd).Start, and sends to exited how it ended.
func StartBound(cmd *exec.Cmd, start func(*exec.Cmd) error, exited chan<- error) error {
	if err := start(cmd); err != nil {
		return err
	}
	go func() { exited <- cmd.Wait() }()
	return nil
}
