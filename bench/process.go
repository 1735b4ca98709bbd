package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// usage is the resource use of a process and its children, as the kernel reports it after their end.
type usage struct {
	cpu    time.Duration // user and system
	wall   time.Duration
	peak   int64 // bytes of memory at most
	output string
}

// measure runs a command to its end.
func measure(ctx context.Context, argv ...string) (usage, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	start := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(start), output: out.String()}
	if err != nil {
		return u, fmt.Errorf("%w: %s", err, lastLine(u.output))
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss << 10
	}
	return u, nil
}
