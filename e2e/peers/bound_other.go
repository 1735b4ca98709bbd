//go:build !linux

package peers

import "os/exec"

// startBound starts a process and sends to exited how it ended.
func startBound(cmd *exec.Cmd, exited chan<- error) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { exited <- cmd.Wait() }()
	return nil
}
